"""Checks every C name that the Swift sources use against the headers of each C library that they are compiled with.

Usage: c_names.py HEADERS [FOLDER…]
HEADERS: lib/libc/include of the PyPI package ziglang; FOLDER: sources, by default the package's own

A name counts as a C name if the headers of glibc, musl or Darwin declare it and no Swift source does. Each file is read once for
each of the three, with the #if branches that are compiled there. A finding is a name that this library's headers lack, or a file
that uses C names without an import that provides them. Types and the meaning of names are not checked: this shows what cannot
compile, not what can.
"""

import re
import sys
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SOURCES = sorted((ROOT / "Sources").glob("SQLCipherKit*"))

WORLDS = {
    "Darwin": {"folders": ["any-darwin-any"], "os": {"macOS"}, "modules": {"Darwin", "Foundation", "Security", "Dispatch", "os"}},
    "Glibc": {"folders": ["generic-glibc", "any-linux-any", "x86_64-linux-gnu", "x86-linux-any", "x86_64-linux-any"],
              "os": {"Linux"}, "modules": {"Glibc", "Foundation", "Dispatch"}},
    "Musl": {"folders": ["generic-musl", "any-linux-any", "x86_64-linux-musl", "x86-linux-any", "x86_64-linux-any"],
             "os": {"Linux"}, "modules": {"Musl", "Foundation", "Dispatch"}},
}
# A file that uses C names must import one of these modules. The engine's own headers include <string.h> and pass it on,
# and ArgumentParser's commands have their own exit().
C_MODULES = {"Glibc", "Musl", "Darwin", "Foundation", "FoundationEssentials", "Dispatch", "CSQLCipher", "ArgumentParser"}
# Names that are not C's with any C library: words of Swift and of SQL, and functions of Swift's standard library.
OF_SWIFT = set("""
as any async await case catch class convenience defer deinit do else fileprivate final for func get guard if import in init inout
internal is isolated lazy let mutating nonisolated nonmutating open operator override package precondition private protocol public
repeat required return self set some static subscript super switch throw throws try typealias unowned var weak where while
willSet didSet AND OR abs assert index max min print round swap zip type withUnsafePointer DEBUG FALSE NULL TRUE
""".split()) - {"open"}
WORD = re.compile(r"[A-Za-z_]\w*")


@lru_cache(maxsize=None)
def texts(headers, world):
    found = []
    for folder in WORLDS[world]["folders"]:
        for path in sorted((headers / folder).rglob("*.h")):
            found.append(re.sub(r"/\*.*?\*/|//[^\n]*", " ", path.read_text(encoding="utf-8", errors="replace"), flags=re.DOTALL))
    if not found:
        sys.exit(f"c_names: no headers for {world} under {headers}")
    return found


@lru_cache(maxsize=None)
def words(headers, world):
    return {word for text in texts(headers, world) for word in WORD.findall(text)}


@lru_cache(maxsize=None)
def declared(headers, world):
    """The names of functions, and of macros and enumerators in capitals."""
    names = set()
    for text in texts(headers, world):
        names.update(re.findall(r"\b([a-z_]\w*)\s*\(", text))
        names.update(re.findall(r"^[ \t]*#[ \t]*define[ \t]+([A-Z_][A-Z0-9_]+)\b", text, re.MULTILINE))
        names.update(re.findall(r"\b([A-Z_][A-Z0-9_]{2,})\s*(?:=[^,}]*)?[,}]", text))
    return {name for name in names if not name.startswith("_")}


def holds(condition, world):
    """True if a condition of #if is true in one of the worlds."""
    facts = WORLDS[world]

    def value(match):
        kind, name = match[1], match[2]
        if kind == "os":
            return str(name in facts["os"])
        if kind == "canImport":
            return str(name in facts["modules"] | {"CSQLCipher", "Testing"})
        return "True" if kind in ("swift", "compiler") else str(kind == "arch" and name == "x86_64")

    text = re.sub(r"(\w+)\(\s*([^)]*?)\s*\)", value, condition)
    text = re.sub(r"\b(?!True\b|False\b)[A-Za-z_]\w*", "False", text).replace("&&", " and ").replace("||", " or ")
    return bool(eval(re.sub(r"!(?!=)", " not ", text), {"__builtins__": {}}))  # noqa: S307: words, brackets and operators only


def lines_of(text, world):
    """The lines that are compiled, with their numbers, without comments and the text of strings."""
    # The inside of \( ) in a string is code; the string's own words are not.
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m[0].count("\n"), text, flags=re.DOTALL)
    text = re.sub(r'"""(.*?)"""', lambda m: "\n" * m[0].count("\n"), text, flags=re.DOTALL)
    taken, stack = [], []
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped.startswith("#if "):
            now = holds(stripped[4:].split("//")[0], world)
            stack.append([now, now])
        elif stripped.startswith("#elseif ") and stack:
            now = not stack[-1][1] and holds(stripped[8:].split("//")[0], world)
            stack[-1] = [now, stack[-1][1] or now]
        elif stripped.startswith("#else") and stack:
            stack[-1] = [not stack[-1][1], True]
        elif stripped.startswith("#endif") and stack:
            stack.pop()
        elif all(branch[0] for branch in stack):
            line = re.sub(r'#?"(?:\\.|[^"\\])*"#?', '""', line)
            taken.append((number, re.sub(r"//.*", "", line)))
    return taken


def swift_names(files):
    """The names that the Swift sources declare themselves, which are not C's."""
    names = set()
    for text in files.values():
        names.update(
            re.findall(r"\b(?:func|var|let|case|struct|class|enum|typealias|protocol|actor|associatedtype)\s+`?(\w+)", text)
        )
        names.update(re.findall(r"\b(\w+)\s*:\s*(?:@|\[|\(|\w)", text))
        names.update(name for group in re.findall(r"\bcase\s+([\w, `]+)", text) for name in WORD.findall(group))
    return names


def findings(headers, folders):
    files = {path: path.read_text(encoding="utf-8") for folder in folders for path in sorted(folder.rglob("*.swift"))}
    if not files:
        sys.exit("c_names: no Swift sources found")
    own = swift_names(files)
    of_c = set().union(*(declared(headers, world) for world in WORLDS))
    found, used = [], {}
    for path, text in files.items():
        for world in WORLDS:
            lines = lines_of(text, world)
            imports = {
                m[1]
                for _, line in lines
                if (m := re.match(r"\s*(?:@\w+\s+)*(?:public |internal |private )?import\s+(?:\w+ )?(\w+)", line))
            }
            first = None
            for number, line in lines:
                for match in re.finditer(r"(?<![\w.@#`$])([A-Za-z_]\w*)(\s*\()?", line):
                    name = match[1]
                    is_call = match[2] is not None and not re.search(r"\b(?:func|init)\s+$", line[: match.start()])
                    if name not in of_c or name in OF_SWIFT or name in own or not (is_call or (name.isupper() and len(name) > 2)):
                        continue
                    first = first or (number, name)
                    used.setdefault(name, set()).add(path.name)
                    if name not in words(headers, world):
                        found.append(f"{path}:{number}: {name}: not in the headers of {world}")
                for module in re.findall(r"\b(Glibc|Musl|Darwin)\.\w", line):
                    if module != world:
                        found.append(f"{path}:{number}: {module}.: there is no such module with {world}")
            for module in imports & {"Glibc", "Musl", "Darwin"} - {world}:
                found.append(f"{path}: imports {module}, which is not there with {world}")
            if first and not imports & C_MODULES:
                found.append(f"{path}:{first[0]}: {first[1]}: nothing is imported that has C's names with {world}")
    return sorted(set(found)), used


def check(headers, folders=None):
    found, used = findings(headers, folders or SOURCES)
    for line in found:
        print(line.replace(f"{ROOT}/", ""))
    print(f"C names in the Swift sources: {len(used)}, held against the headers of {', '.join(WORLDS)}: "
          f"{f'{len(found)} are missing somewhere' if found else 'all there'}", flush=True)
    return ["C names"] if found else []


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(1 if check(Path(sys.argv[1]), [Path(folder) for folder in sys.argv[2:]]) else 0)
