"""Writes the manual page of the tool, in mdoc, from the commands' own declarations. Run through scripts/workshop/manual.

usage: manual.py TOOL; the tool is asked for its declarations, and the page goes to standard output.
"""

import datetime
import json
import re
import subprocess
import sys
import textwrap

# The options of these groups, and these single options, are the same for many commands, and are explained once.
SHARED = {"Key": "Key options", "Attached databases": "Attached databases"}
EVERYWHERE = {"version", "help"}
FORMATS = {"format", "json"}


def escaped(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "".join(character if ord(character) < 127 else f"\\[u{ord(character):04X}]" for character in text)


def line(text):
    """Running text, with each sentence on its own line, as mdoc wants it."""
    text = re.sub(r"(?<=[.?!])\s+(?=\S)", "\n", escaped(text))
    rows = [row for sentence in text.split("\n") for row in
            textwrap.wrap(sentence, 76, break_long_words=False, break_on_hyphens=False) or [""]]
    # A dot or a quote at the start of a line would make it a request.
    return "\n".join("\\&" + row if row[:1] in (".", "'") else row for row in rows)


def macro_text(text):
    """Arguments of a macro: escapes quotes, and words that are themselves macros."""
    return '"' + escaped(text).replace('"', "\\(dq") + '"'


def name_of(argument):
    if argument["kind"] == "positional":
        return None
    preferred = argument["preferredName"]
    return preferred["name"]


def flag(argument):
    names = []
    for name in argument["names"]:
        names.append(("-" if name["kind"] == "short" else "--") + name["name"])
    text = ", ".join(names)
    if argument["kind"] == "option":
        text += " " + argument["valueName"]
    return text


def synopsis(command):
    words = []
    for argument in command.get("arguments", []):
        if argument["kind"] == "positional" and argument["shouldDisplay"]:
            text = argument["valueName"] + (" ..." if argument["isRepeating"] else "")
            words.append(f"[{text}]" if argument["isOptional"] else text)
    return " ".join(words)


class Page:
    def __init__(self):
        self.lines = []

    def add(self, *lines):
        self.lines += lines

    def option(self, argument):
        self.add(f".It {macro_text(flag(argument))}")
        text = argument.get("abstract", "")
        default = argument.get("defaultValue")
        if default and argument["kind"] == "option":
            text += f" By default {default}."
        self.add(line(text) or "\\&")

    def options(self, arguments):
        if not arguments:
            return
        self.add(".Bl -tag -width Ds")
        for argument in arguments:
            self.option(argument)
        self.add(".El")

    def prose(self, text, first=True):
        """Paragraphs; indented lines stay as they are."""
        for part in text.split("\n\n"):
            rows = part.split("\n")
            if not first:
                self.add(".Pp")
            first = False
            indented = [row for row in rows if row.startswith("  ")]
            running = [row for row in rows if not row.startswith("  ")]
            if running:
                self.add(line(" ".join(running)))
            if indented:
                self.example(indented)

    def example(self, rows):
        self.add(".Bd -literal -offset indent", *("\\&" + escaped(row.strip()) for row in rows), ".Ed")


def sections(discussion):
    """The running text, and the text below each heading in capitals."""
    found, current = {"": []}, ""
    for row in discussion.split("\n"):
        if re.fullmatch(r"[A-Z][A-Z ]+", row):
            current = row
            found[current] = []
        else:
            found[current].append(row)
    return {name: "\n".join(rows).strip("\n") for name, rows in found.items()}


def commands(command, prefix=""):
    for sub in command.get("subcommands", []):
        if sub["commandName"] == "help" or not sub.get("shouldDisplay", True):
            continue
        name = f"{prefix}{sub['commandName']}"
        yield name, sub
        yield from commands(sub, name + " ")


def main():
    tool = sys.argv[1]
    root = json.loads(subprocess.run([tool, "--experimental-dump-help"], capture_output=True, text=True, check=True).stdout)[
        "command"
    ]
    version = subprocess.run([tool, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    everything = list(commands(root))
    page = Page()
    date = datetime.date.today()
    page.add(
        f".Dd {date:%B} {date.day}, {date.year}",
        ".Dt SQLCIPHERKIT 1",
        ".Os",
        ".Sh NAME",
        ".Nm sqlcipherkit",
        f".Nd {line(root['abstract'][:1].lower() + root['abstract'][1:].rstrip('.'))}",
        ".Sh SYNOPSIS",
        ".Nm",
        ".Ar command",
        ".Op options",
        ".Ar database",
        ".Op Ar argument ...",
        ".Sh DESCRIPTION",
    )
    parts = sections(root["discussion"])
    page.prose(parts[""])
    page.add(".Pp", line(f"This page describes {version}."))

    shared = {title: {} for title in SHARED}
    formats = {}
    page.add(".Sh COMMANDS")
    page.add(line("Options that commands share are explained once, in the sections after this one."))
    for name, command in everything:
        words = synopsis(command)
        # A bracket or dots at the end would be taken for the end of a sentence.
        page.add(f".Ss {escaped(f'{name} {words}'.strip())}" + ("\\&" if words[-1:] in ("]", ".") else ""))
        page.prose(command.get("abstract", ""))
        own, groups = [], []
        for argument in command.get("arguments", []):
            if not argument["shouldDisplay"] or name_of(argument) in EVERYWHERE:
                continue
            group = argument.get("sectionTitle")
            if group in SHARED:
                shared[group].setdefault(name_of(argument), argument)
                if SHARED[group] not in groups:
                    groups.append(SHARED[group])
            elif name_of(argument) in FORMATS:
                formats.setdefault(name_of(argument), argument)
                if "Output" not in groups:
                    groups.append("Output")
            elif argument["kind"] != "positional" or argument["valueName"] != "database":
                own.append(argument)
        below = sections(command.get("discussion", ""))
        if below[""]:
            page.prose(below[""], first=False)
        positional = [a for a in own if a["kind"] == "positional"]
        options = [a for a in own if a["kind"] != "positional"]
        if positional or options:
            page.add(".Bl -tag -width Ds")
            for argument in positional:
                page.add(f".It Ar {macro_text(argument['valueName'])}", line(argument.get("abstract", "")) or "\\&")
            for argument in options:
                page.option(argument)
            page.add(".El")
        if groups:
            page.add(".Pp", line(f"It also takes the options of: {', '.join(groups)}."))
        for title, text in below.items():
            if title == "JSON":
                page.add(".Pp", line(f"With --json: {text[:1].lower() + text[1:]}."))
            elif title:
                page.add(".Pp", f"{escaped(title.capitalize())}:")
                page.example([row for row in text.split("\n") if row.strip()])

    for group, title in SHARED.items():
        page.add(f".Sh {title.upper()}")
        page.options(shared[group].values())
    page.add(".Sh OUTPUT")
    page.options(formats.values())
    page.add(".Sh ENVIRONMENT", ".Bl -tag -width Ds")
    for row in parts["ENVIRONMENT"].split("\n"):
        variable, meaning = row.strip().split("  ", 1)
        page.add(f".It Ev {escaped(variable)}", line(meaning.strip()))
    page.add(".El", ".Sh EXIT STATUS", ".Bl -tag -width Ds")
    for row in parts["EXIT STATUS"].split("\n"):
        status, meaning = row.strip().split("  ", 1)
        page.add(f".It {status}", line(meaning.strip()))
    page.add(".El", ".Sh EXAMPLES")
    page.example([row for row in parts["EXAMPLES"].split("\n") if row.strip()])
    print("\n".join(page.lines))


main()
