"""Makes a release of the checked-out commit: an archive with the engine's source inside, or a commit for a tag.

Run through scripts/release.
"""

import argparse
import bz2
import io
import json
import os
import re
import signal
import subprocess
import sys
import tarfile
import tempfile
from datetime import datetime, timezone
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import bill_of_materials
import static_tool
import vendor
from vendor import ROOT, Stop, shown

NAME = "SQLCipherKit"
# Only for the project itself.
LEFT_OUT = (".ci/",)
# The pages that say which version they are of, and the words for one that is still to come.
PAGES = re.compile(r"(README|CHANGELOG|SECURITY)\.md|Sources/.*\.md|Examples/.*\.md")
PENDING = re.compile(r"\bunreleased\b|\bnot (yet )?released\b", re.I)
# https://semver.org; SwiftPM takes no other tags for versions.
VERSION = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?"
)

HELP = """\
Makes a release of the commit that is checked out. The working tree must be clean, and Vendor/sqlcipher verified.

The first version in CHANGELOG.md must be VERSION with the date of its release, and no page may call it unreleased. A version with
a pre-release part, such as 1.2.0-beta.1, may be made from any commit.

Without an option, it writes NAME-VERSION.tar.bz2, a complete source archive that includes the engine's source and the licences,
the archive's bill of materials (SPDX 2.3, JSON), and SHA256SUMS of both. The same commit gives the same bytes on every machine, at
any time.

With --tool, on Linux, it also writes TOOL-VERSION-linux-MACHINE.tar.bz2: the command-line tool as one statically linked program,
which runs on any Linux with this machine's processor, even with an empty folder as its root. Its sum is in SHA256SUMS. It is built
from the release's files (swift build, ten minutes), and its bytes depend on the compiler.

With --commit, it adds a commit with the same files to the branch release/VERSION; the branch and the files that are checked
out are not changed. With --tag, it tags that commit too, so that SwiftPM can depend on it by URL and version. Nothing is pushed."""


def say(text):
    print(f"release: {text}", flush=True)


def git(*arguments, data=None, environment=None):
    settings = {**os.environ, **(environment or {})}
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], input=data, env=settings, capture_output=True, check=False)
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        raise Stop(f"git {arguments[0]} failed: {lines[-1] if lines else f'exit status {done.returncode}'}")
    return done.stdout


def git_line(*arguments, **options):
    return git(*arguments, **options).decode().strip()


class Commit:
    """The only source of a release: no clock, user name or setting of this machine counts."""

    def __init__(self):
        try:
            if Path(git_line("rev-parse", "--show-toplevel")).resolve() != ROOT:
                raise Stop("no git checkout of this package")
        except FileNotFoundError as error:
            raise Stop("git is not installed") from error
        except Stop as stop:
            raise Stop(f"a release needs a git checkout of this package, and this folder is not one ({stop})") from stop
        changed = git("status", "--porcelain", "-z", "--untracked-files=no").decode(errors="replace").split("\0")[0]
        if changed:
            raise Stop(f"{changed[3:]} is changed and not committed; a release needs a commit")
        self.id = git_line("rev-parse", "HEAD")
        self.time = int(git_line("show", "--no-patch", "--format=%ct", "HEAD"))

    def files(self):
        """Path, git's mode and bytes of each file, in the order of their names' bytes."""
        rows = [row for row in git("ls-tree", "-r", "-z", "HEAD").decode().split("\0") if row]
        entries = []
        for row in rows:
            (mode, kind, object_id), path = row.partition("\t")[0].split(), row.partition("\t")[2]
            if kind != "blob":
                raise Stop(f"{path}: is a {kind}, which a release cannot hold")
            if not path.startswith(LEFT_OUT):
                entries.append((path, mode, object_id))
        # Two lines, "ID blob SIZE" and the bytes, for each: one process for all files.
        stream = io.BytesIO(git("cat-file", "--batch", data="".join(f"{entry[2]}\n" for entry in entries).encode()))
        files = {}
        for path, mode, _ in entries:
            files[path] = (mode, stream.read(int(stream.readline().split()[2])))
            stream.read(1)
        return files


# --- What is in a release ---------------------------------------------------------------------------------------------


def check_pages(files, version):
    """The pages of a release say that it is one: a tag that may have been fetched cannot be corrected."""
    if "-" in version.partition("+")[0]:
        return
    newest = re.search(r"^## (.+)$", files["CHANGELOG.md"][1].decode(), re.M)
    if newest is None or re.fullmatch(re.escape(version) + r" - \d{4}-\d\d-\d\d", newest[1]) is None:
        raise Stop(f"the first version in CHANGELOG.md is '{newest[1] if newest else ''}', not '{version} - YYYY-MM-DD'")
    for path in filter(PAGES.fullmatch, files):
        for number, line in enumerate(files[path][1].decode().splitlines(), 1):
            if PENDING.search(line):
                raise Stop(f"{path}:{number} says '{PENDING.search(line)[0]}', which is not true of a release")


def engine(pins):
    """The verified files of Vendor/sqlcipher. The notice of LibTomCrypt, which is only linked, is not the local system's."""
    problem = vendor.inspect(pins)
    if problem is not None:
        raise Stop(f"{problem}; run ./scripts/vendor")
    names = [*pins.sums, "symbols.h", "LICENSE.SQLCipher", "LICENSE.SQLite"]
    files = {name: (vendor.FOLDER / name).read_bytes() for name in names}
    files["LICENSE.LibTomCrypt"] = vendor.linked_notice(pins).encode()
    files[vendor.SUMS] = vendor.sums_text(files, pins).encode()
    return {f"Vendor/sqlcipher/{name}": ("100644", data) for name, data in files.items()}


def contents(commit, version):
    with vendor.locked(vendor.VENDOR):
        pins = vendor.Pins()
        own = commit.files()
        check_pages(own, version)
        files = {**own, **engine(pins)}
    bill = bill_of_materials.document(version, datetime.fromtimestamp(commit.time, timezone.utc), pins, files)
    files[f"{NAME}.spdx.json"] = ("100644", (json.dumps(bill, indent=2, ensure_ascii=False) + "\n").encode())
    return {path: files[path] for path in sorted(files, key=str.encode)}


def tar(files, folder, time):
    output = io.BytesIO()
    # USTAR stores nothing that differs between machines, except the fields that are set here.
    with tarfile.open(fileobj=output, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path, (mode, data) in files.items():
            entry = tarfile.TarInfo(f"{folder}/{path}")
            entry.mtime = time
            if mode == "120000":
                entry.type, entry.linkname, entry.mode = tarfile.SYMTYPE, data.decode(), 0o777
                archive.addfile(entry)
            else:
                entry.size, entry.mode = len(data), 0o755 if mode == "100755" else 0o644
                archive.addfile(entry, io.BytesIO(data))
    return output.getvalue()


# --- The two kinds of release -----------------------------------------------------------------------------------------


def write_archive(version, folder, with_tool):
    if with_tool:
        static_tool.check_machine()
    commit = Commit()
    files = contents(commit, version)
    name = f"{NAME}-{version}"
    # bzip2 has one library, which has written the same bytes for twenty years; gzip's bytes depend on the zlib in use.
    made = {
        f"{name}.spdx.json": files[f"{NAME}.spdx.json"][1],
        f"{name}.tar.bz2": bz2.compress(tar(files, name, commit.time), 9),
    }
    if with_tool:
        say("building the tool, which takes ten minutes")
        tool = static_tool.name(version)
        # The licences of everything that is linked into it.
        inside = {static_tool.PRODUCT: ("100755", static_tool.build(files))}
        inside.update({path: files[path] for path in files if path in ("LICENSE", "NOTICE.md") or "/LICENSE." in path})
        made[f"{tool}.tar.bz2"] = bz2.compress(tar({path: inside[path] for path in sorted(inside)}, tool, commit.time), 9)
    made["SHA256SUMS"] = "".join(f"{vendor.sha256(data)}  {path}\n" for path, data in made.items()).encode()
    folder.mkdir(parents=True, exist_ok=True)
    fresh = {path: folder / f".{path}.new" for path in made}
    try:
        for path, data in made.items():
            vendor.write(fresh[path], data)
        # SHA256SUMS comes last, so that an incomplete release does not look complete.
        for path in made:
            os.replace(fresh[path], folder / path)
    finally:
        for path in fresh.values():
            path.unlink(missing_ok=True)
    vendor.sync_folder(folder)
    say(f"{len(files)} files of commit {commit.id[:12]}, SQLCipher's source among them")
    for path, data in made.items():
        say(f"wrote {shown(folder / path)} ({len(data):,} bytes)")


def write_commit(version, with_tag):
    commit = Commit()
    branch = f"refs/heads/release/{version}"
    taken = [name for name in git("for-each-ref", "--format=%(refname)", f"refs/tags/{version}").decode().split()]
    if with_tag and taken:
        raise Stop(f"the tag {version} already exists; a tag that may have been fetched is never moved")
    files = contents(commit, version)
    with tempfile.TemporaryDirectory(prefix="release-") as scratch:
        index = {"GIT_INDEX_FILE": f"{scratch}/index"}
        rows = []
        for path, (mode, data) in files.items():
            rows.append(f"{mode} {git_line('hash-object', '-w', '--stdin', data=data)}\t{path}\0")
        git("update-index", "-z", "--index-info", data="".join(rows).encode(), environment=index)
        tree = git_line("write-tree", environment=index)
    # The name and the time are those of the source commit, so that the same release is the same commit everywhere.
    who, mail = git_line("show", "--no-patch", "--format=%cn%n%ce", "HEAD").split("\n")
    identity = {}
    for role in ("AUTHOR", "COMMITTER"):
        identity.update({f"GIT_{role}_NAME": who, f"GIT_{role}_EMAIL": mail, f"GIT_{role}_DATE": f"{commit.time} +0000"})
    message = f"{NAME} {version}\n\nThe files of {commit.id}, with the engine's source that Vendor/pins.json pins.\n"
    made = git_line("commit-tree", tree, "-p", commit.id, data=message.encode(), environment=identity)
    git("update-ref", "-m", f"release {version}", branch, made)
    say(f"commit {made} is on the branch release/{version}: {len(files)} files, SQLCipher's source among them")
    if with_tag:
        git("tag", "--annotate", "--message", f"{NAME} {version}", version, made)
        say(f"tagged it {version}; publish both with: git push REMOTE {version} release/{version}")
    else:
        say(f"to tag and publish it: ./scripts/release --tag {version}")


def checked_version(text):
    if VERSION.fullmatch(text) is None:
        raise argparse.ArgumentTypeError(f"'{text}' is not a semantic version such as 1.2.0 or 1.2.0-beta.1")
    return text


def main():
    parser = argparse.ArgumentParser(
        prog="scripts/release", description=HELP.replace("NAME", NAME).replace("TOOL", static_tool.PRODUCT),
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version", metavar="VERSION", type=checked_version)
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--commit", action="store_true", help="make the commit on the branch release/VERSION")
    kind.add_argument("--tag", action="store_true", help="make the commit and tag it")
    kind.add_argument("--tool", action="store_true", help="also write the command-line tool as one static program")
    parser.add_argument("--output", metavar="FOLDER", type=Path, help="where the archive goes (default: .build/release-VERSION)")
    arguments = parser.parse_args()
    if arguments.output is not None and (arguments.commit or arguments.tag):
        parser.error("--output is for an archive, and --commit and --tag write none")
    signal.signal(signal.SIGTERM, vendor.terminated)
    try:
        if arguments.commit or arguments.tag:
            write_commit(arguments.version, arguments.tag)
        else:
            write_archive(arguments.version, arguments.output or ROOT / ".build" / f"release-{arguments.version}",
                          arguments.tool)
    except Stop as stop:
        print(f"release: {' '.join(str(stop).split())}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"release: {shown(error.filename or ROOT)}: {error.strerror}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("release: interrupted", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
