"""Fetches, verifies, unpacks and patches the engine's source as Vendor/pins.json names it. Run through scripts/vendor."""

import argparse
import ast
import contextlib
import difflib
import fcntl
import hashlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import zlib
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

sys.path.insert(0, str(Path(__file__).resolve().parent))
import engine_table  # noqa: E402
import patches  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent.parent
VENDOR = ROOT / "Vendor"
FOLDER = VENDOR / "sqlcipher"
PATCHES = VENDOR / "patches"
PATCHED = "sqlite3.c"
FRESH = VENDOR / ".sqlcipher.new"
RETIRED = VENDOR / ".sqlcipher.old"
FRESH_PINS = VENDOR / ".pins.json.new"
SUMS = "SHA256SUMS"
REQUIREMENTS = ROOT / "scripts" / "lib" / "download-requirements.txt"
# The size of the temporary Python environment of a download, with some room to spare.
SCRATCH_BYTES = 64 << 20
SYSTEM_NOTICE = Path("/usr/share/doc/libtomcrypt-dev/copyright")

HELP = """\
Puts the engine's source, as Vendor/pins.json pins it, into Vendor/sqlcipher: sqlite3.c with the patches of
Vendor/patches, sqlite3.h, the generated symbols.h, the licences, and SHA256SUMS. A run that finds everything in order
changes nothing.

The archive comes from the package index that pip is configured for. It is verified, and kept in
$SQLCIPHERKIT_CACHE, or else $XDG_CACHE_HOME/sqlcipherkit, or else ~/.cache/sqlcipherkit."""


class Stop(Exception):
    """An error that is shown to the user in one line."""


def say(text):
    print(f"vendor: {text}", flush=True)


def shown(path):
    """A path as the user would type it: relative to the package if it is inside."""
    try:
        return str(Path(path).relative_to(ROOT))
    except ValueError:
        return str(path)


def sha256(data):
    return hashlib.sha256(data).hexdigest()


# --- The pins ---------------------------------------------------------------------------------------------------------


class Pins:
    """The content of Vendor/pins.json, or of `pins` if given."""

    def __init__(self, pins=None):
        path = VENDOR / "pins.json"
        try:
            pins = pins or json.loads(path.read_text(encoding="utf-8"))
            self.all = pins
            self.upstreams = pins["upstreams"]
            self.source = next(u for u in pins["upstreams"] if u["kind"] == "source")
            self.sqlite = next(u for u in pins["upstreams"] if u["name"] == "SQLite")
            self.libtomcrypt = next(u for u in pins["upstreams"] if u["name"] == "LibTomCrypt")
            self.tool = next(t for t in pins["tools"] if t["name"] == "unearth")
            self.archive = self.source["archive"]
            self.members = {m["file"]: m for m in self.source["members"]}
            self.patches = {p["file"]: p["sha256"] for p in self.source["patches"]}
            # The sums of the files in Vendor/sqlcipher.
            self.sums = {name: m.get("patched", m)["sha256"] for name, m in self.members.items()}
            self.title = f"SQLCipher {self.source['cipherVersion']} (SQLite {self.sqlite['version']})"
            self.package = f"{self.source['package']['name']}=={self.source['package']['version']}"
        except (ValueError, KeyError, StopIteration) as error:
            raise Stop(f"{shown(path)}: cannot be understood: {type(error).__name__} {error}") from error


def require_sum(path, data, expected, authority, remedy):
    found = sha256(data)
    if found != expected:
        raise Stop(f"{shown(path)}: SHA-256 is {found}, but {authority} expects {expected}; {remedy}")


# --- What is generated from the source --------------------------------------------------------------------------------


def exported_symbols(source):
    """Every global name that the amalgamation can define, whatever options it is compiled with."""
    names = set()
    # The interface that SQLite itself declares. The symbol is the first sqlite… name that no further word follows; a
    # declaration without such a name is of a new form, which must not be missed.
    for match in re.finditer(rf"^SQLITE_API\b(?![^;{{]*\b{patches.PREFIX})[^;{{]*", source, re.MULTILINE):
        name = re.search(r"\b(sqlite\w+)\s*(?:[(\[=)]|$)", match.group())
        if name is None:
            line = source.count("\n", 0, match.start()) + 1
            raise Stop(f"sqlite3.c:{line}: this SQLITE_API declaration names no symbol that scripts/vendor understands")
        names.add(name.group(1))
    # Functions that are not static: SQLCipher's own, and those of code that it includes.
    # Where a patch replaces one, the package defines it.
    plain = (rf"^(?!static\b|SQLITE_|typedef\b)[A-Za-z_][\w \t*]*?\b(?:{patches.PREFIX})?((?:sqlite|sqlcipher|xoshiro)\w*)"
             r"[ \t]*\([^;{}#]*\)\s*\{")
    # A definition without "static" is still private where an earlier declaration said so.
    private = set(re.findall(r"^(?:SQLITE_PRIVATE|static)\b[^;{=()]*?\b(\w+)[ \t]*\(", source, re.MULTILINE))
    names.update({match.group(1) for match in re.finditer(plain, source, re.MULTILINE)} - private)
    return sorted(names)


def symbols_header(source, pins):
    names = exported_symbols(source)
    lines = [
        "/* Generated by scripts/vendor; not to be edited. Every symbol that the engine can export gets the package's prefix.",
        f" * From sqlite3.c with SHA-256 {pins.sums['sqlite3.c']}: {len(names)} symbols.",
        " */",
    ]
    lines += [f"#pragma redefine_extname {name} sqlcipherkit_{name}" for name in names]
    return "\n".join(lines) + "\n"


def comment_text(comment):
    """The words of a C comment, without its stars."""
    return "\n".join(re.sub(r"^ ?\*\* ?", "", line).rstrip() for line in comment.splitlines()).strip() + "\n"


def licences(source):
    """The licence notices in the source itself."""
    sqlcipher = re.search(r"/\*+ Begin file sqlcipher\.c \*+/\n/\*\n(.*?)\*/", source, re.DOTALL)
    blessing = re.search(r"^\*\* The author disclaims copyright.*?taking more than you give\.$", source, re.DOTALL | re.MULTILINE)
    if sqlcipher is None or "Redistribution and use" not in sqlcipher.group(1) or blessing is None:
        raise Stop("sqlite3.c: its licence notices are not where scripts/vendor looks for them")
    return {
        "LICENSE.SQLCipher": comment_text(sqlcipher.group(1)),
        "LICENSE.SQLite": comment_text(blessing.group()),
    }


def libtomcrypt_notice(pins):
    """The system's own notice if there is one, as LibTomCrypt is linked, not vendored."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return SYSTEM_NOTICE.read_text(encoding="utf-8")
    return linked_notice(pins)


def linked_notice(pins):
    """A notice that is the same on every system."""
    return (
        f"LibTomCrypt ({pins.libtomcrypt['minimumVersion']} or newer) by Tom St Denis and contributors is linked from\n"
        "the system. Its authors dedicate it to the public domain, or license it under the WTFPL, version 2, as one prefers.\n"
        "The notice that came with the copy on this system stands in that system's package.\n"
    )


def generated(source_bytes, pins):
    source = source_bytes.decode("utf-8")
    return {name: text.encode() for name, text in {"symbols.h": symbols_header(source, pins), **licences(source)}.items()}


# --- Files, locks -----------------------------------------------------------------------------------------------------


def write(path, data):
    try:
        with open(path, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        # The error of a failed write(2) does not have the file's name.
        raise Stop(f"{shown(path)}: {error.strerror}") from error


def sync_folder(path):
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove(path):
    """Removes a file, a link or a folder, if it exists."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def locked(folder):
    """Lets one run in at a time. The lock is on the folder itself, so there is no lock file, and a killed run leaves no lock."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another run to end")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError as error:
            raise Stop(f"{shown(folder)}: cannot be locked: {error.strerror}") from error
        yield
    finally:
        os.close(descriptor)


# --- The archive ------------------------------------------------------------------------------------------------------


def cache_folder():
    if os.environ.get("SQLCIPHERKIT_CACHE"):
        return Path(os.environ["SQLCIPHERKIT_CACHE"]).absolute()
    if os.environ.get("XDG_CACHE_HOME"):
        return Path(os.environ["XDG_CACHE_HOME"]).absolute() / "sqlcipherkit"
    try:
        return Path.home() / ".cache" / "sqlcipherkit"
    except RuntimeError as error:
        raise Stop("there is no home folder to keep the archive in; set SQLCIPHERKIT_CACHE to a folder") from error


def read_archive(path, pins, remedy):
    data = path.read_bytes()
    require_sum(path, data, pins.archive["sha256"], "Vendor/pins.json", remedy)
    return data


def run_tool(what, command, environment, folder):
    """Runs a program that writes into `folder`, without showing its output. A failure becomes one line with its reason."""
    # In its own session, so that the program's children are killed with it.
    process = subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace", start_new_session=True)
    try:
        output, _ = process.communicate(timeout=600)
    except BaseException as error:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if isinstance(error, subprocess.TimeoutExpired):
            raise Stop(f"{what} did not end within 600 seconds; offline, use --from DIR") from error
        raise
    if process.returncode != 0:
        causes = re.findall(r"\[Errno -?\d+\] [^'\")\n]+", output)
        lines = [line.strip() for line in output.splitlines() if line.strip()]
        reason = causes[-1] if causes else lines[-1] if lines else f"exit status {process.returncode}"
        # When the disk is full, venv says only that something failed.
        if shutil.disk_usage(folder).free < SCRATCH_BYTES:
            reason = f"{shown(folder.parent)}: No space left on device"
        raise Stop(f"{what} failed: {reason} (offline, use --from DIR)")
    return output


def pip_settings(python, environment, folder):
    """pip's own configuration, from its files and from PIP_… variables, which the downloader does not read."""
    ranks = {"global": 0, "download": 1, ":env:": 2}
    found = []
    listing = run_tool("asking pip for its configuration", [python, "-m", "pip", "config", "list"], environment, folder)
    for line in listing.splitlines():
        match = re.match(r"(global|download|:env:)\.([\w-]+)=(.*)$", line)
        if match:
            section, name, value = match.groups()
            with contextlib.suppress(ValueError, SyntaxError):
                value = str(ast.literal_eval(value))
            found.append((ranks[section], name, value))
    return {name: value for _, name, value in sorted(found)}


def download_options(settings):
    """The places where pip would look, as the downloader's arguments. A missing folder is left out: pip skips it, the downloader
    fails."""
    options = []
    for name, option in (("index-url", "--index-url"), ("extra-index-url", "--index-url"),
                         ("find-links", "--find-link"), ("trusted-host", "--trusted-host")):
        for value in settings.get(name, "").split():
            path = url2pathname(urlsplit(value).path) if value.startswith("file:") else value
            if name == "find-links" and "://" not in path and not Path(path).expanduser().exists():
                say(f"pip's find-links names {value}, which does not exist: left out")
            else:
                options += [option, value]
    return options


def download(pins, cache, package, file, expected):
    """Downloads an archive into the cache with a temporary Python environment, once for each pin."""
    for stale in cache.glob(".download-*"):
        shutil.rmtree(stale, ignore_errors=True)
    scratch = Path(tempfile.mkdtemp(prefix=".download-", dir=cache))
    try:
        environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONHOME", "PYTHONPATH", "PYTHONSAFEPATH")}
        environment.update(PIP_USER="0", PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_NO_INPUT="1", PIP_NO_COLOR="1")
        environment.setdefault("PIP_RETRIES", "2")
        run_tool("python3 -m venv (Debian and Ubuntu: the package python3-venv)",
                 [sys.executable, "-m", "venv", str(scratch / "venv")], environment, scratch)
        python = str(scratch / "venv" / "bin" / "python")
        run_tool(f"downloading {file}: pip install {pins.tool['name']}",
                 [python, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", "--require-hashes",
                  "-r", str(REQUIREMENTS)], environment, scratch)

        settings = pip_settings(python, environment, scratch)
        if "cert" in settings:
            environment.setdefault("SSL_CERT_FILE", settings["cert"])
        if "proxy" in settings:
            environment.setdefault("HTTPS_PROXY", settings["proxy"])
            environment.setdefault("HTTP_PROXY", settings["proxy"])
        if "index-url" not in settings:
            # Given find-links, the downloader drops its default index; pip is asked for its own.
            default = "from pip._internal.models.index import PyPI; print(PyPI.simple_url)"
            settings["index-url"] = run_tool("asking pip for its default index", [python, "-c", default], environment, scratch)
        command = [python, "-m", "unearth", "--no-binary", "--download", str(scratch / "archive")]
        run_tool(f"downloading {file}", [*command, *download_options(settings), package], environment, scratch)

        arrived = scratch / "archive" / file
        if not arrived.is_file():
            raise Stop(f"downloading {file}: the package index gave another file for {package}")
        data = arrived.read_bytes()
        if expected is not None:
            require_sum(file, data, expected, "Vendor/pins.json", "the package index does not give what was pinned")
        with open(arrived, "rb") as done:
            os.fsync(done.fileno())
        os.rename(arrived, cache / file)
        sync_folder(cache)
        return data
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def fetch(pins):
    """The verified archive's bytes, from the cache or else from the network."""
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    with locked(cache):
        path = cache / pins.archive["file"]
        if path.exists():
            return read_archive(path, pins, "remove it and run ./scripts/vendor again")
        say(f"downloading {pins.archive['file']}")
        return download(pins, cache, pins.package, pins.archive["file"], pins.archive["sha256"])


def unpack(archive, pins):
    files = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as tar:
            for name, member in pins.members.items():
                info = tar.getmember(member["path"])
                if not info.isreg() or info.size != member["bytes"]:
                    raise Stop(f"{pins.archive['file']}: {member['path']} has {info.size} bytes, but Vendor/pins.json "
                               f"expects {member['bytes']}")
                files[name] = tar.extractfile(info).read()
                require_sum(f"{pins.archive['file']}: {member['path']}", files[name], member["sha256"],
                            "Vendor/pins.json", "the pins contradict each other")
    except (tarfile.TarError, KeyError, EOFError, zlib.error) as error:
        raise Stop(f"{pins.archive['file']}: cannot be unpacked: {error}") from error
    return files


# --- The patches ------------------------------------------------------------------------------------------------------


def read_patches():
    try:
        return [patches.Patch(path.name, path.read_text(encoding="utf-8")) for path in sorted(PATCHES.glob("*.patch"))]
    except patches.Refused as error:
        raise Stop(f"Vendor/patches/{error}") from error


def patch_sums():
    return {path.name: sha256(path.read_bytes()) for path in sorted(PATCHES.glob("*.patch"))}


def pinned_patches(pins):
    """The patches, if they are the pinned ones."""
    found = patch_sums()
    for name in sorted({*found, *pins.patches}):
        if found.get(name) != pins.patches.get(name):
            what = "is missing" if name not in found else "is not pinned" if name not in pins.patches else \
                f"SHA-256 is {found[name]}, but Vendor/pins.json expects {pins.patches[name]}"
            raise Stop(f"Vendor/patches/{name}: {what}; after a change of a patch, run ./scripts/vendor --pin-patches")
    return read_patches()


def patched(source, all_patches):
    try:
        return patches.applied(source.decode("utf-8"), all_patches)
    except patches.Refused as error:
        raise Stop(f"Vendor/patches/{error}") from error


def with_patches(files, pins):
    """The archive's files, with the patches applied, whose result is pinned as well."""
    source = patched(files[PATCHED], pinned_patches(pins))[0].encode()
    require_sum(PATCHED, source, pins.sums[PATCHED], "Vendor/pins.json", "run ./scripts/vendor --pin-patches")
    return {**files, PATCHED: source}


def pin(pins_text, source, fresh):
    """Writes the sums of the patches, and of what they make of a source, into pins."""
    text = patched(source, fresh)[0].encode()
    upstream = next(u for u in pins_text["upstreams"] if u["kind"] == "source")
    upstream["patches"] = [{"file": name, "sha256": digest} for name, digest in patch_sums().items()]
    member = next(m for m in upstream["members"] if m["file"] == PATCHED)
    member["patched"] = {"bytes": len(text), "sha256": sha256(text)}
    return text


def archive_of(pins, offline):
    return fetch(pins) if offline is None else read_archive(
        Path(offline) / pins.archive["file"], pins, "it is not the pinned archive")


def pin_patches(pins, offline):
    """Pins the patches as they are, and installs what they make of the pinned source."""
    with ready():
        files = unpack(archive_of(pins, offline), pins)
        fresh = json.loads(json.dumps(pins.all))
        files[PATCHED] = pin(fresh, files[PATCHED], read_patches())
        install_with_pins(files, Pins(fresh))
    say(f"{len(patch_sums())} patches are pinned, and applied in Vendor/sqlcipher")


def show_patches(pins, offline):
    """Prints what the patches change, as one diff."""
    source = unpack(archive_of(pins, offline), pins)[PATCHED]
    all_patches = pinned_patches(pins)
    _, hunks = patched(source, all_patches)
    for patch in all_patches:
        print(f"{patch.name}\n{patch.head}\n--- a/sqlite3.c\n+++ b/sqlite3.c")
        print(hunks[patch.name] + "\n")


def unpatched(pins, offline, target):
    """Writes upstream's own files, for comparisons."""
    Path(target).mkdir(parents=True, exist_ok=True)
    for name, data in unpack(archive_of(pins, offline), pins).items():
        write(Path(target) / name, data)


# --- Vendor/sqlcipher -------------------------------------------------------------------------------------------------


def sums_text(files, pins):
    changes = sha256("".join(pins.patches.values()).encode())
    lines = [f"# from {pins.archive['file']}, SHA-256 {pins.archive['sha256']}, with patches {changes}"]
    return "\n".join(lines + [f"{sha256(files[name])}  {name}" for name in sorted(files)]) + "\n"


def inspect(pins):
    """What is wrong with the folder and can be repaired by a run, or None. A changed byte is not repaired: it stops the run."""
    remedy = "remove Vendor/sqlcipher and run ./scripts/vendor again"
    try:
        head, *rows = (FOLDER / SUMS).read_text(encoding="utf-8").splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return f"Vendor/sqlcipher is not complete: {SUMS} is missing" if FOLDER.exists() else "Vendor/sqlcipher is missing"
    except ValueError:
        head, rows = "", []
    if head != sums_text({}, pins).rstrip("\n"):
        return f"Vendor/sqlcipher belongs to another archive than {pins.archive['file']}, or has other patches"
    recorded = {name: digest for digest, _, name in (row.partition("  ") for row in rows)}
    source = b""
    for name in sorted({*recorded, *pins.members}):
        try:
            data = (FOLDER / name).read_bytes()
        except FileNotFoundError:
            return f"Vendor/sqlcipher is not complete: {name} is missing"
        if name in pins.members:
            require_sum(FOLDER / name, data, pins.sums[name], "Vendor/pins.json", remedy)
        else:
            require_sum(FOLDER / name, data, recorded[name], f"Vendor/sqlcipher/{SUMS}", remedy)
        if name == "sqlite3.c":
            source = data
    # The files are as they were written, but this script may generate them differently by now.
    for name, data in generated(source, pins).items():
        if sha256(data) != recorded.get(name):
            return f"Vendor/sqlcipher/{name} is not what scripts/vendor generates"
    if "LICENSE.LibTomCrypt" not in recorded:
        return "Vendor/sqlcipher is not complete: LICENSE.LibTomCrypt is missing"
    return None


def install(files):
    """Installs all files at once: writes and syncs them beside the folder, then renames that into its place."""
    FRESH.mkdir()
    try:
        for name, data in files.items():
            write(FRESH / name, data)
        sync_folder(FRESH)
        if FOLDER.exists() or FOLDER.is_symlink():
            # In a container, a folder of a layer below cannot be renamed: it is copied then.
            shutil.move(FOLDER, RETIRED)
        os.rename(FRESH, FOLDER)
        sync_folder(VENDOR)
    except BaseException:
        if RETIRED.exists() and not FOLDER.exists():
            os.rename(RETIRED, FOLDER)
        raise
    finally:
        with contextlib.suppress(OSError):
            remove(FRESH)
            remove(RETIRED)


@contextlib.contextmanager
def ready():
    """Locks Vendor, and removes what a killed run has left behind."""
    with locked(VENDOR):
        for path in (FRESH, RETIRED, FRESH_PINS):
            remove(path)
        yield


def complete(files, pins):
    """All files that go into the folder: the members of the archive, and the files generated from them."""
    files = {**files, **generated(files["sqlite3.c"], pins)}
    files["LICENSE.LibTomCrypt"] = libtomcrypt_notice(pins).encode()
    files[SUMS] = sums_text(files, pins).encode()
    return files


def vendor(pins, offline):
    with ready():
        pinned_patches(pins)
        if inspect(pins) is None:
            say(f"{pins.title} is in Vendor/sqlcipher, verified")
            return
        install(complete(with_patches(unpack(archive_of(pins, offline), pins), pins), pins))
        say(f"{pins.title} unpacked into Vendor/sqlcipher")


def install_with_pins(members, pins):
    try:
        write(FRESH_PINS, (json.dumps(pins.all, indent=2, ensure_ascii=False) + "\n").encode())
        # A run that dies between the two leaves the old pins, and the next run restores the old files from them.
        install(complete(members, pins))
        os.replace(FRESH_PINS, VENDOR / "pins.json")
    finally:
        FRESH_PINS.unlink(missing_ok=True)
    sync_folder(VENDOR)


def check(pins):
    with locked(VENDOR):
        pinned_patches(pins)
        problem = inspect(pins)
    if problem is not None:
        raise Stop(f"{problem}; run ./scripts/vendor")
    say(f"{pins.title} is in Vendor/sqlcipher, verified")


# --- Another version --------------------------------------------------------------------------------------------------


def found(pattern, text, where):
    match = re.search(pattern, text, re.MULTILINE)
    if match is None:
        raise Stop(f"{where}: has no text that matches {pattern}, which scripts/vendor looks for")
    return match.group(1)


def members_of(archive, file, names):
    """The path and bytes of each member, wherever it is in the archive."""
    members = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as tar:
            for name in names:
                paths = [info for info in tar.getmembers() if info.isreg() and info.name.rpartition("/")[2] == name]
                if len(paths) != 1:
                    raise Stop(f"{file}: has {len(paths)} files named {name}; it needs one")
                members[name] = (paths[0].name, tar.extractfile(paths[0]).read())
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise Stop(f"{file}: cannot be unpacked: {error}") from error
    return members


def pins_for(pins, version, file, archive):
    """The new pins, from the archive's own content, and its files."""
    members = members_of(archive, file, pins.members)
    source, header = (members[name][1].decode("utf-8", "replace") for name in ("sqlite3.c", "sqlite3.h"))
    fresh = json.loads(json.dumps(pins.all))
    sqlcipher = next(u for u in fresh["upstreams"] if u["kind"] == "source")
    sqlite = next(u for u in fresh["upstreams"] if u["name"] == "SQLite")
    for key, pattern in (
        ("version", r'^#define SQLITE_VERSION\s+"([^"]+)"'),
        ("sourceID", r'^#define SQLITE_SOURCE_ID\s+"([^"]+)"'),
    ):
        sqlite[key] = found(pattern, source, f"{file}: sqlite3.c")
        if found(pattern, header, f"{file}: sqlite3.h") != sqlite[key]:
            raise Stop(f"{file}: sqlite3.c and sqlite3.h are of different versions")
    number = found(r"^#define CIPHER_VERSION_NUMBER\s+(\S+)", source, f"{file}: sqlite3.c")
    sqlcipher["cipherVersion"] = f"{number} {found(r'^#define CIPHER_VERSION_BUILD *(.+)$', source, f'{file}: sqlite3.c').strip()}"
    sqlcipher["copyright"] = found(
        r"(Copyright \(c\) [0-9, -]+ ZETETIC LLC)", licences(source)["LICENSE.SQLCipher"], f"{file}: sqlite3.c"
    )
    sqlcipher["package"]["version"] = version
    sqlcipher["archive"] = {"file": file, "bytes": len(archive), "sha256": sha256(archive)}
    sqlcipher["members"] = [
        {"file": name, "path": path, "bytes": len(data), "sha256": sha256(data)} for name, (path, data) in members.items()
    ]
    files = {name: data for name, (_, data) in members.items()}
    require_patches_fit(files[PATCHED].decode("utf-8"))
    files[PATCHED] = pin(fresh, files[PATCHED], read_patches())
    return Pins(fresh), files


def require_patches_fit(source):
    """Shows the edits whose place has changed, with the difference as far as the installed engine has the old text."""
    try:
        installed = (FOLDER / PATCHED).read_text(encoding="utf-8")
    except OSError:
        installed = ""
    moved = list(patches.drift(source, read_patches()))
    for patch, edit, now in moved:
        say(f"{patch.name}: {edit.function} is gone" if now is None else
            f"{patch.name}: {edit.function} has changed, to SHA-256 {patches.sum_of(now)}")
        before = patches.original(installed, edit)
        if before is not None and now is not None:
            for line in list(difflib.unified_diff(before.split("\n"), now.split("\n"), lineterm="", n=2))[2:]:
                print(f"    {line}")
    if moved:
        raise Stop(f"{len(moved)} edits of Vendor/patches were written for other text; read what changed, correct them, "
                   "and run this again")


def listed_symbols(text):
    return set(re.findall(r"^#pragma redefine_extname (\w+)", text, re.MULTILINE))


def changes(old, new, new_files):
    """What differs in the new pins, one line for each difference."""
    rows = [
        ("package", old.package, new.package),
        ("SQLCipher", old.source["cipherVersion"], new.source["cipherVersion"]),
        ("SQLite", old.sqlite["version"], new.sqlite["version"]),
        ("source id", old.sqlite["sourceID"], new.sqlite["sourceID"]),
        ("copyright", old.source["copyright"], new.source["copyright"]),
    ]
    for name, before, after in [(new.archive["file"], old.archive, new.archive)] + [
        (n, old.members[n], m) for n, m in new.members.items()
    ]:
        rows.append((f"{name}, SHA-256", before["sha256"], after["sha256"]))
        rows.append((f"{name}, bytes", f"{before['bytes']:,}", f"{after['bytes']:,}"))
    lines = [f"{title}: {before} -> {after}" for title, before, after in rows if before != after]
    after = listed_symbols(new_files["symbols.h"].decode())
    try:
        # Only the symbols of the old pins are worth comparing with.
        text = (FOLDER / "symbols.h").read_text(encoding="utf-8")
        before = listed_symbols(text) if old.sums["sqlite3.c"] in text else None
    except OSError:
        before = None
    if before is None:
        return lines + [f"symbols: {len(after)}"]
    lines.append(f"symbols: {len(before)} -> {len(after)}")
    lines += [f"new symbol: {name}" for name in sorted(after - before)] + [
        f"symbol gone: {name}" for name in sorted(before - after)
    ]
    return lines


def private_changes(old, new_source):
    """How the engine's private parts that the package uses have changed, one line for each."""
    names = engine_table.listed(engine_table.TABLE.read_text(encoding="utf-8"))
    try:
        before = (FOLDER / "sqlite3.c").read_bytes()
    except OSError:
        before = b""
    # Without the engine of the old pins there is nothing to compare with, but a name may still be gone.
    if sha256(before) != old.sums["sqlite3.c"]:
        source = engine_table.Source(new_source)
        return [f"private symbol gone: {name}" for name in names if source.definition(name) is None]
    lines = engine_table.differences(names, before.decode("utf-8"), new_source)
    return [f"private symbols: {len(names) - len(lines)} of {len(names)} are as they were", *lines]


def update(pins, wanted, offline):
    """Pins another version. Vendor/pins.json changes last, after everything else has succeeded."""
    name = pins.source["package"]["name"]
    match = re.fullmatch(r"([\w.-]+)==(\d[\w.]*)", wanted)
    if match is None or match.group(1) != name:
        raise Stop(f"'{wanted}' cannot be pinned; give {name}==VERSION")
    version = match.group(2)
    file = f"{name}-{version}.tar.gz"
    with ready():
        if version == pins.source["package"]["version"]:
            say(f"{wanted} is already pinned")
            return
        if offline is not None:
            archive = (Path(offline) / file).read_bytes()
        else:
            cache = cache_folder()
            cache.mkdir(parents=True, exist_ok=True)
            with locked(cache):
                if (cache / file).exists():
                    archive = (cache / file).read_bytes()
                else:
                    say(f"downloading {file}")
                    archive = download(pins, cache, wanted, file, None)
        fresh, members = pins_for(pins, version, file, archive)
        files = complete(members, fresh)
        lines = changes(pins, fresh, files) + private_changes(pins, files["sqlite3.c"].decode("utf-8"))
        install_with_pins(members, fresh)
    for line in lines:
        say(line)
    old = {pins.source["cipherVersion"].split()[0], pins.sqlite["version"]} - {
        fresh.source["cipherVersion"].split()[0],
        fresh.sqlite["version"],
    }
    stale = [
        path.name
        for path in (ROOT / "README.md", ROOT / "NOTICE.md")
        if path.exists() and any(v in path.read_text(encoding="utf-8") for v in old)
    ]
    if stale:
        say(f"the old version is still named in {' and '.join(stale)}")
    say(f"{fresh.title} is pinned and unpacked; compare the sum of {file} with the upstream's")
    say("the build stops until it is reviewed: follow Vendor/README.md, then run ./scripts/test")


def terminated(number, _frame):
    # Raises where the program is, so that temporary folders are removed on the way out.
    sys.exit(128 + number)


def main():
    parser = argparse.ArgumentParser(
        prog="scripts/vendor", description=HELP, formatter_class=argparse.RawDescriptionHelpFormatter)
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument(
        "--update", metavar="NAME==VERSION", help="pin another version: fetch it, rewrite Vendor/pins.json, show what changes"
    )
    mode.add_argument("--check", action="store_true", help="only verify Vendor/sqlcipher; change nothing")
    mode.add_argument("--diff", action="store_true", help="print what the patches change in sqlite3.c, and why")
    mode.add_argument("--pin-patches", action="store_true", help="after a change of a patch: pin its sum, and apply it")
    mode.add_argument("--unpatched", metavar="FOLDER", help="write upstream's own files into FOLDER")
    mode.add_argument("--fetch", action="store_true", help="only put the verified archive into the cache; print its path")
    parser.add_argument("--from", dest="offline", metavar="DIR", help="take the archive from DIR; use no network and no cache")
    arguments = parser.parse_args()
    if arguments.offline is not None and (arguments.check or arguments.fetch):
        parser.error("--from cannot be combined with --check or --fetch")
    signal.signal(signal.SIGTERM, terminated)
    try:
        pins = Pins()
        if arguments.fetch:
            with contextlib.redirect_stdout(sys.stderr):
                fetch(pins)
            print(cache_folder() / pins.archive["file"])
        elif arguments.check:
            check(pins)
        elif arguments.diff or arguments.unpatched is not None:
            with contextlib.redirect_stdout(sys.stderr):
                archive_of(pins, arguments.offline)
            if arguments.diff:
                show_patches(pins, arguments.offline)
            else:
                unpatched(pins, arguments.offline, arguments.unpatched)
        elif arguments.pin_patches:
            pin_patches(pins, arguments.offline)
        elif arguments.update is not None:
            update(pins, arguments.update, arguments.offline)
        else:
            vendor(pins, arguments.offline)
    except Stop as stop:
        print(f"vendor: {' '.join(str(stop).split())}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"vendor: {shown(error.filename or VENDOR)}: {error.strerror}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("vendor: interrupted", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
