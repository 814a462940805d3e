"""Compares the rings and the table of modules in ARCHITECTURE.md with the manifest and the sources.

Run through scripts/workshop/check-modules."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent.parent
# The modules that a module may import beside what the picture says: the system's.
SYSTEM = {"AppKit", "Darwin", "Dispatch", "Foundation", "Glibc", "LocalAuthentication", "Musl", "Observation", "Security", "Swift",
          "Synchronization", "UIKit", "WinSDK", "os"}
# Lines of code, without blank ones and comments: documentation may grow.
MOST_LINES = 15_000
IMPORT = re.compile(r"^\s*(?:@\w+(?:\([^)]*\))? )*(?:(?:public|package|internal|private|fileprivate) )?"
                    r"import (?:(?:struct|class|enum|protocol|func|var|let|typealias) )?(\w+)", re.MULTILINE)


def rings(text):
    """The picture: {name: how far out its ring is}, and the pairs (a module, the one beside it that it sees)."""
    lines = [line.split("|")[0] for line in text.split("```")[1].splitlines() if "|" in line]
    words = {word: len(lines) - number for number, line in enumerate(lines) for word in re.findall(r"\b[A-Z]\w+", line)}
    beside = {(after, before) for line in lines for before, after in re.findall(r"(\w+) ← (\w+)", line)}
    return words, beside


def table(text):
    """The table: {module: (the modules that it sees, its rooms)}."""
    modules, name = {}, None
    for bold, plain, sees in re.findall(r"^\| (?:\*\*`(\w+)`\*\*|`([\w/]+)`) \| ([^|]*) ?\| [^|]* \|$", text, re.MULTILINE):
        if bold:
            name = bold
            modules[name] = set(re.findall(r"`(\w+)`", sees)), set()
        elif name and not sees:
            modules[name][1].add(plain)
    return modules


def missing(text):
    """The files and folders that the page names and that are not there, whatever folder they are in."""
    paths = []
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in (".build", ".git")]
        paths += [f"{folder}/{name}" for name in folders + files]
    names = re.findall(r"`(\w[\w.+-]*(?:/[\w.+-]+)+|\w[\w+-]*\.(?:c|h|md|py|swift))`", text)
    return sorted(name for name in set(names) if not any(path.endswith(f"/{name}") for path in paths))


def targets():
    """The manifest's: {target: (the targets and products that it depends on, its folder)}."""
    environment = {**os.environ, "SQLCIPHERKIT_DEVELOPMENT": "all"}
    dump = subprocess.run(["swift", "package", "dump-package"], cwd=ROOT, env=environment, stdout=subprocess.PIPE,
                          check=True).stdout
    found = {}
    for target in json.loads(dump)["targets"]:
        kinds = [next(iter(dependency.items())) for dependency in target["dependencies"]]
        folder = target.get("path") or f"{'Tests' if target['type'] == 'test' else 'Sources'}/{target['name']}"
        found[target["name"]] = {value[0] for kind, value in kinds}, ROOT / folder
    return found


def undeclared(manifest):
    """Imports of a target that its manifest does not name: they compile only if something else happened to be built before."""
    for target, (names, folder) in manifest.items():
        for path in sorted(folder.rglob("*.swift")):
            for other in sorted(set(IMPORT.findall(path.read_text())) & set(manifest) - names - {target}):
                yield f"{path.relative_to(ROOT)} imports {other}, which the manifest does not name for {target}"


def reached(manifest, name):
    """The targets that a target depends on, directly or not."""
    seen, left = set(), [name]
    while left:
        new = manifest.get(left.pop(), set()) - seen
        seen |= new
        left += new
    return seen


def inward(manifest, text):
    """The modules that a module sees against its ring. The modules that SQLCipherKit stands for have rings, and it has none."""
    words, beside = rings(text)
    for name, names in manifest.items():
        for other in sorted(names):
            own, its = (module.removeprefix("SQLCipherKit") or module for module in (name, other))
            if own in words and its in words and words[its] >= words[own] and (own, its) not in beside:
                yield f"{name} sees {other}, whose ring is not inside its own"
    for other in sorted(reached(manifest, "SQLCipherKit")):
        if words.get(other.removeprefix("SQLCipherKit"), 0) > words.get("Files", 0):
            yield f"SQLCipherKit brings {other}, which is outside of its rings"


def problems():
    text, described = (ROOT / "ARCHITECTURE.md").read_text(), targets()
    pictured, words = table(text), rings(text)[0]
    manifest = {name: names for name, (names, _) in described.items()}
    yield from undeclared(described)
    yield from inward(manifest, text)
    yield from (f"ARCHITECTURE.md names {name}, which is not there" for name in missing(text))
    libraries = {name for name in manifest
                 if name.startswith("SQLCipherKit") and not name.endswith("Tests")
                 and name not in ("SQLCipherKitCLI", "SQLCipherKitMacros")}
    modules = {name: row for name, row in pictured.items() if name in libraries}
    for name in sorted(set(pictured) - set(manifest) | libraries - set(modules)):
        yield f"{name} is {'not in the table' if name in libraries else 'no target'}"
    for name in sorted(libraries - {"SQLCipherKit"}):
        if name.removeprefix("SQLCipherKit") not in words:
            yield f"{name} is in no ring"
    for name in sorted(set(pictured) & set(manifest) - libraries):
        for room in sorted(pictured[name][1]):
            if not (described[name][1] / room).is_dir():
                yield f"{room} is no room of {name}"
    for name in sorted(modules):
        if name in reached(manifest, name):
            yield f"{name} sees itself"
    for name, (sees, rooms) in modules.items():
        for other in sorted(manifest[name] ^ sees):
            where = "the manifest" if other in manifest[name] else "the table"
            yield f"only {where} says that {name} sees {other}"
        folder = ROOT / "Sources" / name
        files = sorted(folder.rglob("*.swift"))
        imports = {path: set(IMPORT.findall(path.read_text())) for path in files}
        for path, names in imports.items():
            for other in sorted(names - sees - SYSTEM):
                yield f"{path.relative_to(ROOT)} imports {other}, which {name} does not see"
        for path in files:
            if path.name != "Lock.swift" and re.search(r"\bMutex\b", path.read_text()):
                yield f"{path.relative_to(ROOT)} has a Mutex: Lock is the lock that the thread sanitizer knows"
        # The compiler's plug-in and the C libraries are not imported.
        used = set().union(*imports.values()) if imports else set()
        for other in sorted(sees - used):
            if other.startswith("SQLCipherKit") and other != "SQLCipherKitMacros":
                yield f"no file of {name} imports {other}"
        there = {path.name for path in folder.iterdir() if path.is_dir() and path.suffix != ".docc" and any(path.iterdir())}
        for room in sorted(there ^ rooms):
            yield f"{room} is {'not in the table for' if room in there else 'no room of'} {name}"
        lines = (line.strip() for path in files for line in path.read_text().splitlines())
        count = sum(line != "" and not line.startswith("//") for line in lines)
        if count > MOST_LINES:
            yield f"{name} has {count} lines of code, more than {MOST_LINES}"
        if name + "Tests" not in manifest:
            yield f"{name} has no tests of its own"


def main():
    found = list(problems())
    for problem in found:
        print(f"check-modules: {problem}", file=sys.stderr)
    if found:
        sys.exit(1)


main()
