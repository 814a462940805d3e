"""Puts GRDB as it is published on this package's engine, through its own SQLCipher option. Run through scripts/grdb; used by
scripts/workshop/check-grdb and scripts/bench too."""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
URL = "https://github.com/groue/GRDB.swift"
# The version that scripts/workshop/check-grdb tests.
VERSION = "7.10.0"
# SwiftPM takes two packages for the same one if their last parts are: with another name, a library that depends on GRDB brings a
# second GRDB.
NAME = "GRDB.swift"
ZETETIC = "SQLCipher.swift"

HELP = f"""\
Writes GRDB with its SQLCipher option switched on, on this package's engine, into FOLDER/{NAME}. Your package then depends on that
folder in place of GRDB's URL, and libraries that depend on GRDB use it too. Run again, it replaces the folder only if nothing in it
was changed by hand."""


class Unexpected(Exception):
    """GRDB's manifest is not as expected, or cannot be fetched."""


# --- The manifest -----------------------------------------------------------------------------------------------------


def element(lines, start):
    """The end of the element of a list that begins at a line: where its brackets are closed."""
    depth = 0
    for index in range(start, len(lines)):
        depth += sum(lines[index].count(bracket) for bracket in "([") - sum(lines[index].count(bracket) for bracket in ")]")
        if depth <= 0:
            return index + 1
    raise Unexpected(f"GRDB's manifest has an element without an end: {lines[start].strip()}")


def swapped(manifest, dependency, name="SQLCipherKit"):
    """GRDB's manifest for this engine. It follows the comments that begin with GRDB+SQLCipher, as GRDB's README says to do.
    `dependency` is the Swift code of the entry in `dependencies`, and `name` the package's name in products."""
    lines, result, index, steps = manifest.splitlines(), [], 0, []
    while index < len(lines):
        step = re.match(r" *// GRDB\+SQLCipher: (Uncomment|Delete) ", lines[index])
        if not step:
            if "GRDB+SQLCipher" in lines[index]:
                raise Unexpected(f"GRDB's manifest has a step that is not known: {lines[index].strip()}")
            result.append(lines[index])
            index += 1
            continue
        steps.append(step[1])
        index += 1
        if step[1] == "Delete":
            index = element(lines, index)
            continue
        # Code that is commented out has no single blank after the slashes, as a comment has.
        while index < len(lines) and re.match(r" *//(?! \S)", lines[index]):
            result.append(lines[index].replace("//", "", 1))
            index += 1
    text = "\n".join(result) + "\n"
    text, packages = re.subn(rf'\.package\(url: "[^"]*/{re.escape(ZETETIC)}[^"]*", [^)]*\)', lambda _: dependency, text)
    text, products = re.subn(rf'package: "{re.escape(ZETETIC)}"', f'package: "{name}"', text)
    if sorted(set(steps)) != ["Delete", "Uncomment"] or packages != 1 or products < 1 or ZETETIC in text or "GRDBSQLite" in text:
        raise Unexpected("GRDB's manifest is not the one expected: its steps for SQLCipher do not lead to this package's engine")
    return text


# --- Its folder -------------------------------------------------------------------------------------------------------


def git(*arguments):
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)
    except OSError as error:
        raise Unexpected(f"git cannot be run: {error.strerror}") from error
    if done.returncode != 0:
        raise Unexpected(f"git {arguments[0]} {URL}: {(done.stderr.strip().splitlines() or ['failed'])[-1]}")
    return done.stdout


def clone(folder, version=VERSION):
    """Clones GRDB's source at a tag into a new folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    git("clone", "--quiet", "--branch", version, "--single-branch", URL, str(folder))


def on_engine(folder, dependency, name="SQLCipherKit", version=VERSION):
    """Puts GRDB into a folder, on the engine of the package that `dependency` names."""
    clone(folder, version)
    manifest = folder / "Package.swift"
    manifest.write_text(swapped(manifest.read_text(), dependency, name))


def by_path(package):
    """The dependency on the package at a path that is absolute, or relative to GRDB."""
    return f'.package(name: "SQLCipherKit", path: "{package}")'


# --- scripts/grdb -----------------------------------------------------------------------------------------------------


def main():
    parser = argparse.ArgumentParser(
        prog="scripts/grdb", description=HELP, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", metavar="FOLDER", nargs="?", default=str(ROOT.parent),
                        help=f"where the folder {NAME} is made (default: beside this checkout)")
    parser.add_argument("--version", default=VERSION, help="GRDB's version (default: %(default)s, which is the one that is tested)")
    parser.add_argument("--url", help="depend on the engine by this URL, not by the path of this checkout")
    parser.add_argument("--from", dest="least", default="1.0.0", help="with --url: the least version (default: %(default)s)")
    options = parser.parse_args()
    place = Path(options.folder).resolve()
    if not place.is_dir():
        raise Unexpected(f"there is no folder {place}")
    target = place / NAME
    if options.url:
        name = re.sub(r"\.git$", "", options.url.rstrip("/").rsplit("/", 1)[-1])
        dependency = f'.package(url: "{options.url}", from: "{options.least}")'
    else:
        name, dependency = "SQLCipherKit", by_path(os.path.relpath(ROOT, target))
    # Made beside its place, so that a failure leaves what was there.
    with tempfile.TemporaryDirectory(prefix=".grdb-", dir=place) as work:
        made = Path(work) / NAME
        on_engine(made, dependency, name, options.version)
        commit = ("-c", "user.name=scripts/grdb", "-c", "user.email=", "-c", "commit.gpgsign=false", "commit", "--quiet")
        git("-C", str(made), *commit, "-am", f"GRDB {options.version} on SQLCipherKit's engine")
        if target.exists():
            # The mark of a folder that this script has made, with nothing in it that its commit has not.
            log = git("-C", str(target), "log", "-1", "--format=%an") if (target / ".git").exists() else ""
            if log.strip() != "scripts/grdb" or git("-C", str(target), "status", "--porcelain").strip():
                raise Unexpected(f"{target} is there, and is not as this script has left it: move it away first")
            shutil.rmtree(target)
        made.rename(target)
    print(f"grdb: GRDB {options.version} is in {target}. In your manifest:")
    print(f'    .package(path: "{os.path.relpath(target)}"),')
    print(f'    .product(name: "GRDB", package: "{NAME}"),')


if __name__ == "__main__":
    try:
        main()
    except (Unexpected, OSError) as problem:
        sys.exit(f"grdb: {problem}")
    except KeyboardInterrupt:
        sys.exit(130)
