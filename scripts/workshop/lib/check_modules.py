"""Compares the picture of the modules in ARCHITECTURE.md with the manifest and the sources.

Run through scripts/workshop/check-modules."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent.parent
# What a module may import beside what the picture says: the system's.
SYSTEM = {"AppKit", "Darwin", "Dispatch", "Foundation", "Glibc", "LocalAuthentication", "Musl", "Observation", "Security",
          "Synchronization", "UIKit", "WinSDK", "os"}
MOST_LINES = 18_000
IMPORT = re.compile(r"^\s*(?:@\w+(?:\([^)]*\))? )*(?:(?:public|package|internal|private|fileprivate) )?"
                    r"import (?:(?:struct|class|enum|protocol|func|var|let|typealias) )?(\w+)", re.MULTILINE)


def picture():
    """The table: {module: (the modules that it sees, its rooms)}."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    rows = re.findall(r"^\| `(SQLCipherKit\w*)` \| ([^|]*) \| ([^|]*) \|$", text, re.MULTILINE)
    return {name: (set(re.findall(r"`(\w+)`", sees)), set(re.findall(r"`([\w.]+)`", rooms))) for name, sees, rooms in rows}


def targets():
    """The manifest's: {target: (the targets and products that it depends on, its folder)}."""
    environment = {**os.environ, "SQLCIPHERKIT_DEVELOPMENT": "1"}
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


def tied(modules):
    """The modules that reach themselves."""
    def reached(name, seen):
        for other in modules.get(name, ((), ()))[0]:
            if other not in seen:
                seen.add(other)
                reached(other, seen)
        return seen
    return [name for name in modules if name in reached(name, set())]


def problems():
    modules, described = picture(), targets()
    manifest = {name: names for name, (names, _) in described.items()}
    yield from undeclared(described)
    if not modules:
        yield "ARCHITECTURE.md has no table of modules"
    libraries = {name for name in manifest
                 if name.startswith("SQLCipherKit") and not name.endswith("Tests")
                 and name not in ("SQLCipherKitCLI", "SQLCipherKitMacros")}
    for name in sorted(libraries ^ set(modules)):
        yield f"{name} is {'not in the picture' if name in libraries else 'no target'}"
    for name in tied(modules):
        yield f"{name} sees itself"
    # The modules that SQLCipherKit stands for: whoever imports it imports these.
    for name, (sees, rooms) in modules.items():
        if name not in manifest:
            continue
        for other in sorted(manifest[name] ^ sees):
            where = "the manifest" if other in manifest[name] else "the picture"
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
        there = {path.name for path in folder.iterdir() if path.is_dir() and any(path.iterdir())}
        for room in sorted(there ^ rooms):
            yield f"{room} is {'not in the picture of' if room in there else 'no room of'} {name}"
        lines = sum(path.read_text().count("\n") for path in files)
        if lines > MOST_LINES:
            yield f"{name} has {lines} lines, more than {MOST_LINES}"
        if name + "Tests" not in manifest:
            yield f"{name} has no tests of its own"


def main():
    found = list(problems())
    for problem in found:
        print(f"check-modules: {problem}", file=sys.stderr)
    if found:
        sys.exit(1)


main()
