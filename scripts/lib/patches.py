"""Applies Vendor/patches to the pinned amalgamation. Run through scripts/vendor.

A patch is a head, and edits. The head says in words why, what is known upstream, and which tests fail without it:

    Why: SQLCipher frees its keys when the process exits.
    Upstream: a defect of SQLCipher: upstream/exit-while-writing.c.
    Test: EnginePatchTests/theEngineHasNoOtherExitHandlers

An edit names a function, and the sum of its definition. Our own lines follow, and nothing of upstream's text:

    @@ replace sqlcipher_extra_shutdown 26d63fc7061bbee6
    static void upstream_sqlcipher_extra_shutdown(void);

`replace` puts the lines before the definition, which gets the name upstream_FUNCTION: whoever calls FUNCTION calls ours.
`insert at PLACE in FUNCTION SUM` puts them between two lines of the definition, and `change N at PLACE in FUNCTION SUM` in place
of N lines. PLACE is the sum of the lines that ours replace, with the line before and the line after them. It must occur once, so
that ours never stand anywhere else. A definition that was read in several versions of the engine has a sum for each.

A sum is the first 16 digits of the text's SHA-256. It shows a change; what is compiled is pinned by whole sums.
"""

import hashlib
import re

PREFIX = "upstream_"


class Refused(Exception):
    """A patch that cannot be understood or applied."""


class Edit:
    def __init__(self, function, sums, lines, place=None, count=0):
        self.function, self.sums, self.lines = function, sums, lines
        # Where ours stand in the definition, and how many lines they replace there; no place if they replace the function.
        self.place, self.count = place, count

    @property
    def is_replacement(self):
        return self.place is None

    def position(self, definition):
        """The number of lines in front of ours; None where the place does not occur once."""
        lines, size = definition.split("\n"), self.count + 2
        found = [at + 1 for at in range(len(lines) - size + 1) if sum_of("\n".join(lines[at:at + size])) == self.place]
        return found[0] if len(found) == 1 else None

    def problem(self, definition):
        """Why the edit may not be applied to a definition, in words; None if it fits."""
        if definition is None:
            return "is gone, or defined more than once"
        if not self.is_replacement and self.position(definition) is None:
            return "has changed, where ours stand too: correct the place, and the sum to " + sum_of(definition)
        if sum_of(definition) not in self.sums:
            return ("has changed: read how; if ours still holds, add " if self.is_replacement else
                    "has changed, but not where ours stand: read how; if they still hold, add ") + sum_of(definition)
        return None

    def apply(self, definition):
        """The new lines in place of the definition's."""
        if self.is_replacement:
            return self.lines + re.sub(rf"\b{self.function}\b", PREFIX + self.function, definition, count=1).split("\n")
        old, at = definition.split("\n"), self.position(definition)
        return old[:at] + self.lines + old[at + self.count:]


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
            digest = "[0-9a-f]{16}"
            match = re.fullmatch(rf"(?:replace|(?:insert|change (\d+)) at ({digest}) in) (\w+)((?: {digest})+)", line)
            if match is None:
                raise Refused(f"{name}: cannot be understood: @@ {line}")
            self.edits.append(Edit(match[3], match[4].split(), lines, match[2], int(match[1] or 0)))
        if not self.edits:
            raise Refused(f"{name}: has no edit")

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


def definition(source, function):
    span = definition_span(source, function)
    return None if span is None else source[slice(*span)]


def sum_of(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def drift(source, patches):
    """The edits that do not fit a source: patch, edit, and why."""
    for patch in patches:
        for edit in patch.edits:
            problem = edit.problem(definition(source, edit.function))
            if problem is not None:
                yield patch, edit, problem


def applied(source, patches):
    """The patched text, and each edit's hunk of a unified diff by its patch."""
    places = []
    for patch, edit, problem in drift(source, patches):
        raise Refused(f"{patch.name}: was written for another sqlite3.c: {edit.function} {problem}")
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
