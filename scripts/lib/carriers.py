"""The carriers of the engine's source: an sdist of the package index, or upstream's own tree. Run through scripts/vendor."""

import ast
import contextlib
import fcntl
import hashlib
import io
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
import zlib
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

ROOT = Path(__file__).resolve().parent.parent.parent
REQUIREMENTS = ROOT / "scripts" / "lib" / "download-requirements.txt"
DOWNLOADER = "unearth"
# The name of upstream itself, of which no package index has an archive.
UPSTREAM = "sqlcipher"
MEMBERS = ("sqlite3.c", "sqlite3.h")
# A tree has this; an archive with the finished amalgamation does not.
GENERATOR = "tool/mksqlite3c.tcl"
# The size of the temporary Python environment of a download, with some room to spare.
SCRATCH_BYTES = 64 << 20


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


def require_sum(path, data, expected, authority, remedy):
    found = sha256(data)
    if found != expected:
        raise Stop(f"{shown(path)}: SHA-256 is {found}, but {authority} expects {expected}; {remedy}")


def sync_folder(path):
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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


# --- The package index ------------------------------------------------------------------------------------------------


def cache_folder():
    if os.environ.get("SQLCIPHERKIT_CACHE"):
        return Path(os.environ["SQLCIPHERKIT_CACHE"]).absolute()
    if os.environ.get("XDG_CACHE_HOME"):
        return Path(os.environ["XDG_CACHE_HOME"]).absolute() / "sqlcipherkit"
    try:
        return Path.home() / ".cache" / "sqlcipherkit"
    except RuntimeError as error:
        raise Stop("there is no home folder to keep the archive in; set SQLCIPHERKIT_CACHE to a folder") from error


def run_tool(what, command, environment, folder, hint=" (offline, use --from DIR)"):
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
            raise Stop(f"{what} did not end within 600 seconds{hint}") from error
        raise
    if process.returncode != 0:
        causes = re.findall(r"\[Errno -?\d+\] [^'\")\n]+", output)
        lines = [line.strip() for line in output.splitlines() if line.strip()]
        reason = causes[-1] if causes else lines[-1] if lines else f"exit status {process.returncode}"
        # When the disk is full, venv says only that something failed.
        if shutil.disk_usage(folder).free < SCRATCH_BYTES:
            reason = f"{shown(folder.parent)}: No space left on device"
        raise Stop(f"{what} failed: {reason}{hint}")
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


@contextlib.contextmanager
def downloader(cache, file):
    """Yields `download(package, file, expected, authority)`, which downloads an archive into the cache with a temporary Python
    environment. The first file is named in errors."""
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
        run_tool(f"downloading {file}: pip install {DOWNLOADER}",
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
        places = download_options(settings)

        def download(package, file, expected, authority="Vendor/pins.json"):
            kind = "--only-binary" if file.endswith(".whl") else "--no-binary"
            command = [python, "-m", DOWNLOADER, kind, "--download", str(scratch / "archive")]
            run_tool(f"downloading {file}", [*command, *places, package], environment, scratch)
            arrived = scratch / "archive" / file
            if not arrived.is_file():
                raise Stop(f"downloading {file}: the package index gave another file for {package}")
            if expected is not None:
                require_sum(file, arrived.read_bytes(), expected, authority, "the package index does not give what was pinned")
            with open(arrived, "rb") as done:
                os.fsync(done.fileno())
            os.rename(arrived, cache / file)
            sync_folder(cache)

        yield download
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


# --- Archives and trees -----------------------------------------------------------------------------------------------


def new_carrier(wanted, place, folder):
    """The pins' entry for a carrier that the user names, as far as that is known before it has been read."""
    match = re.fullmatch(r"([\w.-]+)==(\d[\w.]*)", wanted)
    if match is None:
        raise Stop(f"'{wanted}' cannot be pinned; give NAME==VERSION")
    name, version = match.groups()
    if name == UPSTREAM:
        if place is None:
            raise Stop(f"upstream's own {wanted} is on no package index; give its tree or its archive with --from")
        return {"kind": "tree", "purl": f"pkg:generic/{name}@{version}"}
    # The index's own form of the name, which scanners compare; an sdist's file has another one since PEP 625.
    name = re.sub(r"[-_.]+", "-", name).lower()
    file = f"{name.replace('-', '_')}-{version}.tar.gz"
    return {"kind": "sdist", "purl": f"pkg:pypi/{name}@{version}", "file": file, **({"folder": folder} if folder else {})}


def is_address(place):
    return "://" in place


def name_and_version(carrier):
    return carrier["purl"].partition("?")[0].rpartition("/")[2].split("@")


def cached(carrier):
    """The archive's path in the cache, where it is downloaded to if it is missing; for a tree, the folder with what it made."""
    cache = cache_folder()
    if carrier["kind"] == "tree":
        path = cache / "-".join(name_and_version(carrier))
        if not path.exists():
            raise Stop(f"{path.name} is on no package index; give its tree or its archive with --from")
        return path
    cache.mkdir(parents=True, exist_ok=True)
    with locked(cache):
        path = cache / carrier["file"]
        if not path.exists():
            say(f"downloading {path.name}")
            with downloader(cache, path.name) as download:
                download("==".join(name_and_version(carrier)), path.name, carrier.get("sha256"))
    return path


def keep(carrier, files):
    """Keeps what a tree has made in the cache, as it takes long to make."""
    path = cache_folder() / "-".join(name_and_version(carrier))
    if carrier["kind"] == "tree" and not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
            for name, data in files.items():
                (Path(scratch) / path.name).mkdir(exist_ok=True)
                (Path(scratch) / path.name / name).write_bytes(data)
            os.rename(Path(scratch) / path.name, path)


def archive_of(carrier, place):
    """The bytes of a carrier's archive, and no others where its sum is pinned."""
    remedy = "it is not what was pinned"
    if place is None:
        path, remedy = cached(carrier), "remove it and run ./scripts/vendor again"
    else:
        path = Path(place) / carrier.get("file", "") if Path(place).is_dir() else Path(place)
    if place is not None and is_address(place):
        say(f"downloading {path.name}")
        try:
            with urllib.request.urlopen(place, timeout=600) as response:
                data = response.read()
        except (OSError, ValueError) as error:
            raise Stop(f"downloading {path.name} failed: {getattr(error, 'reason', error)}") from error
    else:
        data = path.read_bytes()
    if "sha256" in carrier:
        require_sum(path, data, carrier["sha256"], "Vendor/pins.json", remedy)
    return data


def members_of(carrier, place):
    """The amalgamation and its header, by name. A carrier that is not pinned yet learns its archive's sum and the folder inside."""
    if place is None and carrier["kind"] == "tree":
        return generated(cached(carrier))
    if place is not None and Path(place).is_dir() and not ("file" in carrier and (Path(place) / carrier["file"]).is_file()):
        if carrier["kind"] == "tree" or (Path(place) / GENERATOR).exists():
            return generated(Path(place))
    data = archive_of(carrier, place)
    carrier.update(bytes=len(data), sha256=sha256(data))
    if carrier["kind"] == "tree":
        carrier["purl"] = f"{carrier['purl'].partition('?')[0]}?checksum=sha256:{carrier['sha256']}"
        carrier.setdefault("file", Path(urlsplit(place).path if is_address(place) else place).name)
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:*") as tar:
            names = [info.name for info in tar.getmembers() if info.isreg()]
            trees = [name for name in names if name.endswith(f"/{GENERATOR}")]
            if trees:
                with tempfile.TemporaryDirectory() as scratch:
                    tar.extractall(scratch, filter="data")
                    return generated(Path(scratch) / trees[0].removesuffix(GENERATOR))
            wanted = "/" + "/".join(filter(None, [carrier.get("folder"), MEMBERS[0]]))
            found = [name for name in names if f"/{name}".endswith(wanted)]
            if len(found) != 1:
                raise Stop(f"{carrier['file']}: has {len(found)} files named {wanted[1:]}: {', '.join(found) or 'none'}; "
                           "it needs one, in the folder that --folder names")
            carrier["folder"] = found[0].rpartition("/")[0]
            paths = {name: f"{carrier['folder']}/{name}" for name in MEMBERS}
            return {name: tar.extractfile(path).read() for name, path in paths.items() if path in names}
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise Stop(f"{carrier['file']}: cannot be unpacked: {error}") from error


def files_of(carrier, place, names):
    """Files of an archive that is used as it is: from the folder that `place` is or is in, if that has it."""
    if place is not None and not is_address(place):
        shelf = Path(place) if Path(place).is_dir() else Path(place).parent
        place = str(shelf) if (shelf / carrier["file"]).is_file() else None
    else:
        place = None
    try:
        with tarfile.open(fileobj=io.BytesIO(archive_of(carrier, place)), mode="r:*") as tar:
            return {name: tar.extractfile(f"{carrier['folder']}/{name}").read() for name in names}
    except (tarfile.TarError, EOFError, KeyError, zlib.error) as error:
        raise Stop(f"{carrier['file']}: cannot be unpacked: {error}") from error


def generated(tree):
    """The members of a tree, made as upstream's Makefile makes them, with the parser that knows UPDATE and DELETE with LIMIT."""
    if not (tree / GENERATOR).exists():
        return {name: (tree / name).read_bytes() for name in MEMBERS}
    for tool, package in (("tclsh", "tcl"), ("make", "make"), ("cc", "gcc")):
        if shutil.which(tool) is None:
            raise Stop(f"upstream's tree needs {tool}, which is not installed (Debian and Ubuntu: the package {package})")
    say("making sqlite3.c from upstream's tree")
    with tempfile.TemporaryDirectory() as scratch:
        script = 'cd "$1" && "$2/configure" --enable-update-limit && make sqlite3.c'
        run_tool("making sqlite3.c", ["sh", "-c", script, "sh", scratch, str(tree.absolute())], None, Path(scratch), hint="")
        return {name: (Path(scratch) / name).read_bytes() for name in MEMBERS}
