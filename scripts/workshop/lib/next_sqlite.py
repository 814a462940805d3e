"""Puts the pinned SQLCipher on the next SQLite, before SQLCipher does. Run through scripts/workshop/next-sqlite."""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))
import carriers  # noqa: E402
import vendor  # noqa: E402

# The package has each release of SQLite, inside its own cipher. What it adds to SQLite between two releases is known by a name.
PACKAGE, OWN = "apsw-sqlite3mc", re.compile(r"^.*(?:sqlite3mc|mcDb).*\n", re.MULTILINE)
BEGIN, END = ('/*** {} of #include "sqlite3patched.c" ***/'.format(word) for word in ("Begin", "End"))
HEADER = "/************** Begin file sqlite3.h", "/************** End of sqlite3.h"
CONFLICT = re.compile(r"^<<<<<<< .*?\n(.*?)\|\|\|\|\|\|\| .*?\n=======\n(.*?)>>>>>>> [^\n]*\n", re.MULTILINE | re.DOTALL)


def part(text, begin, end):
    """The lines between two others."""
    start = text.index("\n", text.index(begin)) + 1
    return text[start:text.rindex("\n", 0, text.index(end, start)) + 1]


def merged(ours, base, theirs, decided):
    """`ours` with what has changed from `base` to `theirs`. `decided` says what stands where both have changed."""
    with tempfile.TemporaryDirectory() as scratch:
        paths = [Path(scratch) / name for name in ("ours", "base", "theirs")]
        for path, text in zip(paths, (ours, base, theirs)):
            path.write_text(text, encoding="utf-8")
        made = subprocess.run(["git", "merge-file", "-p", "--diff3", *map(str, paths)], stdout=subprocess.PIPE, check=False)
    if not 0 <= made.returncode < 128:
        raise carriers.Stop("git merge-file failed")
    return CONFLICT.sub(decided, made.stdout.decode("utf-8"))


def sqlite(version):
    """The SQLite of a release of the package."""
    carrier = carriers.new_carrier(f"{PACKAGE}=={version}", None, None)
    return part(carriers.members_of(carrier, None)["sqlite3.c"].decode("utf-8", "replace"), BEGIN, END)


def main():
    parser = argparse.ArgumentParser(
        prog="scripts/workshop/next-sqlite", description="Writes sqlite3.c and sqlite3.h with the pinned SQLCipher on the next "
        "SQLite, so that the package can be built and tested on it before SQLCipher has it: scripts/vendor --update "
        "sqlcipher==CIPHER --from FOLDER takes them, in a clone of its own. What changed between two releases of "
        f"{PACKAGE}, of which the first has the SQLite that is pinned, is merged into upstream's own files.")
    parser.add_argument("old", metavar="OLD", help="the release with the pinned SQLite, such as 3.53.4.0")
    parser.add_argument("new", metavar="NEW", help="the release with the next SQLite, such as 3.54.0.0")
    parser.add_argument("cipher", metavar="CIPHER", help="the version that the result is given, which no SQLCipher has")
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="where to write")
    options = parser.parse_args()
    upstream = vendor.upstream_files(vendor.Pins(), None)
    ours, header = (upstream[name].decode("utf-8") for name in ("sqlite3.c", "sqlite3.h"))
    base, theirs = sqlite(options.old), OWN.sub("", sqlite(options.new))
    conflicts = []

    def decided(match):
        mine, other = match.groups()
        conflicts.append(match.group())
        # The package's declarations are not wanted; the rest is of SQLite's own, such as its version.
        return other if mine.strip() else mine

    made = merged(ours, OWN.sub("", base), theirs, decided)
    made, count = re.subn(r"(#define CIPHER_VERSION_NUMBER +)\S+", rf"\g<1>{options.cipher}", made)
    if count != 1:
        raise carriers.Stop("the pinned sqlite3.c has no CIPHER_VERSION_NUMBER")
    header = merged(header, part(ours, *HEADER), part(made, *HEADER), lambda match: match.group(1))
    options.folder.mkdir(parents=True, exist_ok=True)
    for name, text in (("sqlite3.c", made), ("sqlite3.h", header)):
        (options.folder / name).write_text(text, encoding="utf-8")
    print(f"{options.folder}: SQLite {re.search(r'define SQLITE_VERSION +.([0-9.]+)', header).group(1)}, "
          f"SQLCipher {options.cipher}; {len(conflicts)} places had changed on both sides")


if __name__ == "__main__":
    try:
        main()
    except carriers.Stop as stop:
        print(f"next-sqlite: {stop}", file=sys.stderr)
        sys.exit(1)
