"""Applies Vendor/patches to the pinned amalgamation. Run through scripts/vendor.

A patch is a head, and edits. The head says in words why, what is known upstream, and which tests fail without it:

    Why: SQLCipher frees its keys when the process exits.
    Upstream: SQLCipher 4.19.0 does so; not reported.
    Test: EnginePatchTests/theEngineHasNoOtherExitHandlers

An edit names its place by a function and by the SHA-256 of its definition. Our own lines follow, and nothing of upstream's text:

    @@ replace sqlcipher_atexit 5f2c...
    static void sqlcipher_atexit(void);

`replace` puts the lines before the definition, which gets the name upstream_FUNCTION: whoever calls FUNCTION calls ours. `lines 3-5
in FUNCTION` puts them in place of those lines of the definition, and `after line 5 in FUNCTION` after it.
"""

import hashlib
import re

PREFIX = "upstream_"


class Refused(Exception):
    """A patch that cannot be understood or applied."""


class Edit:
    def __init__(self, function, digest, first, last, is_replacement, lines):
        self.function, self.digest, self.lines = function, digest, lines
        # The lines of the definition that ours replace, from 1; none if `last` is before `first`.
        self.first, self.last, self.is_replacement = first, last, is_replacement

    def apply(self, definition):
        """The new lines in place of the definition's."""
        old = definition.split("\n")
        if not self.is_replacement:
            if not (1 <= self.first and self.last <= len(old) and self.last >= self.first - 1):
                raise Refused(f"{self.function} has {len(old)} lines, none with the number {self.last}")
            return old[:self.first - 1] + self.lines + old[self.last:]
        renamed = re.sub(rf"\b{self.function}\b", PREFIX + self.function, definition, count=1)
        return self.lines + renamed.split("\n")


class Patch:
    def __init__(self, name, text):
        self.name, self.edits = name, []
        head, *parts = re.split(r"^@@ ", text, flags=re.MULTILINE)
        self.head = head.strip()
        for field in ("Why", "Upstream", "Test"):
            if not re.search(rf"^{field}: \S", self.head, re.MULTILINE):
                raise Refused(f"{name}: its head has no line '{field}: '")
        for part in parts:
            line, *lines = part.rstrip("\n").split("\n")
            self.edits.append(self.edit(line, lines))
        if not self.edits:
            raise Refused(f"{name}: has no edit")

    def edit(self, line, lines):
        digest = r"([0-9a-f]{64})"
        if match := re.fullmatch(rf"replace (\w+) {digest}", line):
            return Edit(match[1], match[2], 1, 0, True, lines)
        if match := re.fullmatch(rf"lines (\d+)-(\d+) in (\w+) {digest}", line):
            return Edit(match[3], match[4], int(match[1]), int(match[2]), False, lines)
        if match := re.fullmatch(rf"after line (\d+) in (\w+) {digest}", line):
            return Edit(match[2], match[3], int(match[1]) + 1, int(match[1]), False, lines)
        raise Refused(f"{self.name}: cannot be understood: @@ {line}")

    @property
    def added(self):
        return sum(len(edit.lines) for edit in self.edits)


def definition_span(source, function):
    """Where the one definition of a function begins and ends."""
    found = []
    # Searched for as fixed text, as the file has nine megabytes.
    position = source.find(function)
    while position >= 0:
        start = source.rfind("\n", 0, position) + 1
        if re.compile(rf"[A-Za-z_][\w \t*]*(?<!\w){function}[ \t]*\(").match(source, start) and position < source.find("(", start):
            head = re.compile(r"[^;{}#]*\)\s*\{").match(source, start)
            if head:
                found.append((start, re.compile(r"^\}", re.MULTILINE).search(source, head.end()).end()))
        position = source.find(function, position + 1)
    return found[0] if len(found) == 1 else None


def sum_of(text):
    return hashlib.sha256(text.encode()).hexdigest()


def drift(source, patches):
    """The edits whose place is not the one that they were written for: patch, edit, and what stands there now, if anything."""
    for patch in patches:
        for edit in patch.edits:
            span = definition_span(source, edit.function)
            now = None if span is None else source[slice(*span)]
            if now is None or sum_of(now) != edit.digest:
                yield patch, edit, now


def applied(source, patches):
    """The patched text, and each edit's hunk of a unified diff by its patch."""
    places = []
    for patch, edit, now in drift(source, patches):
        what = "has no such function, or several" if now is None else f"has another one, SHA-256 {sum_of(now)}"
        raise Refused(f"{patch.name}: was written for another {edit.function}: sqlite3.c {what}")
    for patch in patches:
        for edit in patch.edits:
            places.append((*definition_span(source, edit.function), patch, edit))
    hunks, pieces, end, shift = {patch.name: Hunks(source) for patch in patches}, [], 0, 0
    for start, stop, patch, edit in sorted(places, key=lambda place: place[0]):
        if start < end:
            raise Refused(f"{patch.name}: {edit.function} is changed twice")
        old, new = source[start:stop].split("\n"), edit.apply(source[start:stop])
        hunks[patch.name].add(source.count("\n", 0, start), shift, old, new)
        pieces += [source[end:start], "\n".join(new)]
        shift += len(new) - len(old)
        end = stop
    return "".join([*pieces, source[end:]]), {name: found.text() for name, found in hunks.items()}


class Hunks:
    """The hunks of a unified diff, with up to three lines around each change."""

    def __init__(self, source):
        self.lines, self.changes = source.split("\n"), []

    def add(self, line, shift, old, new):
        """A change of the lines from `line`, counted from 0, which are `shift` lines further on in the new text."""
        while old and new and old[0] == new[0]:
            old, new, line = old[1:], new[1:], line + 1
        while old and new and old[-1] == new[-1]:
            old, new = old[:-1], new[:-1]
        self.changes.append((line, shift, old, new))

    def text(self):
        """A line belongs to one hunk at most."""
        parts, used = [], 0
        for index, (line, shift, old, new) in enumerate(self.changes):
            following = self.changes[index + 1][0] if index + 1 < len(self.changes) else len(self.lines)
            before = self.lines[max(used, line - 3):line]
            used = min(line + len(old) + 3, following)
            after = self.lines[line + len(old):used]
            first = line - len(before) + 1
            parts.append("\n".join([
                f"@@ -{first},{len(before) + len(old) + len(after)} +{first + shift},{len(before) + len(new) + len(after)} @@",
                *(f" {text}" for text in before), *(f"-{text}" for text in old), *(f"+{text}" for text in new),
                *(f" {text}" for text in after)]))
        return "\n".join(parts)


def original(source, edit):
    """The definition that an edit was written for, from a text that it was applied to; None if that cannot be told."""
    span = definition_span(source, PREFIX + edit.function) if edit.is_replacement else None
    if span is None:
        return None
    text = source[slice(*span)].replace(PREFIX + edit.function, edit.function, 1)
    return text if sum_of(text) == edit.digest else None
