"""Builds the command-line tool as one program that needs no other file. Part of scripts/release."""

import os
import platform
import shutil
import struct
import subprocess

from vendor import ROOT, Stop, shown, write

FOLDER = ROOT / ".build" / "static-tool"
PRODUCT = "sqlcipherkit"
# --static-swift-stdlib alone would leave the C library and LibTomCrypt outside.
FLAGS = ("-c", "release", "--product", PRODUCT, "--static-swift-stdlib", "-Xswiftc", "-static-executable", "-Xlinker", "-s")


def name(version):
    return f"{PRODUCT}-{version}-linux-{platform.machine()}"


def check_machine():
    """Runs before anything is written, as an archive without the tool would look like a complete release."""
    if platform.system() != "Linux":
        raise Stop("the tool is linked statically only on Linux: no other system has a static C library")
    if shutil.which("swift") is None:
        raise Stop("swift is not installed; ./scripts/setup says where to get it")


def unpack(files, folder):
    """Writes the release's files. Files that are unchanged are not touched, so that only what has changed is compiled."""
    wanted = {folder / path for path in files}
    for path in sorted(folder.rglob("*"), reverse=True) if folder.exists() else []:
        if (path.is_symlink() or not path.is_dir()) and path not in wanted:
            path.unlink()
    for path, (mode, data) in files.items():
        target = folder / path
        if mode == "120000" or (target.is_file() and target.read_bytes() == data):
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        write(target, data)
        target.chmod(0o755 if mode == "100755" else 0o644)


def program_headers(data):
    """The types of the program headers of an ELF file of 64 bits (https://refspecs.linuxfoundation.org/elf/gabi4+/ch5.pheader.html)."""
    if data[:5] != b"\x7fELF\x02":
        raise Stop("the tool that was built is not a 64-bit ELF file")
    start, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    return {struct.unpack_from("<I", data, start + size * index)[0] for index in range(count)}


def build(files):
    """Builds the program and returns its bytes."""
    source = FOLDER / "source"
    unpack(files, source)
    command = ["swift", "build", "--package-path", str(source), "--scratch-path", str(FOLDER / "build"), *FLAGS]
    settings = {**os.environ, "SQLCIPHERKIT_DEVELOPMENT": "1"}
    log = FOLDER / "build.log"
    with log.open("wb") as output:
        status = subprocess.run(command, env=settings, stdout=output, stderr=subprocess.STDOUT, check=False).returncode
    if status != 0:
        lines = log.read_text(errors="replace").splitlines()
        reason = next((line for line in lines if "error:" in line), lines[-1] if lines else f"exit status {status}")
        raise Stop(f"the tool could not be built: {reason.strip()}; see {shown(log)}")
    data = (FOLDER / "build" / "release" / PRODUCT).read_bytes()
    # PT_DYNAMIC and PT_INTERP: a program with either needs another file to start.
    if program_headers(data) & {2, 3}:
        raise Stop("the tool that was built is not linked statically")
    return data
