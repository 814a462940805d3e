#!/usr/bin/env python3
"""Runs moto's object store with the bucket `replicas`, for scripts/workshop/check-replication and scripts/bench replica.

usage: moto_server.py --python | --serve FOLDER

--python prints a Python that has moto: the one that SQLCIPHERKIT_MOTO_PYTHON names, or one in .build/moto, for which the packages
are fetched the first time. --serve prints the address of a server on the loopback, and runs it until it is killed; its log is in
FOLDER. Both end with status 77 and a sentence where moto cannot be had.
"""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
REQUIREMENTS = ROOT / "scripts" / "lib" / "moto-requirements.txt"
FOLDER = ROOT / ".build" / "moto"
# The server trusts every request that names a key.
CREDENTIAL = "AWS4-HMAC-SHA256 Credential=test/20200101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"


class Unavailable(Exception):
    """Why there is no moto."""


def _run(*arguments):
    done = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise Unavailable((done.stdout.strip().splitlines() or [f"{arguments[0]} failed"])[-1])


def python():
    """A Python that has moto."""
    named = os.environ.get("SQLCIPHERKIT_MOTO_PYTHON")
    if named:
        if subprocess.run([named, "-c", "import moto.server"], capture_output=True, check=False).returncode != 0:
            raise Unavailable(f"{named}, which SQLCIPHERKIT_MOTO_PYTHON names, has no moto[server]")
        return named
    # Written last: a folder without it, or made for other pins or another Python, is made again.
    stamp, made_for = FOLDER / "stamp", sys.version + REQUIREMENTS.read_text()
    own = FOLDER / "bin" / "python"
    if not stamp.is_file() or stamp.read_text() != made_for:
        shutil.rmtree(FOLDER, ignore_errors=True)
        _run(sys.executable, "-m", "venv", str(FOLDER))
        _run(str(own), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:", "--no-deps",
             "-r", str(REQUIREMENTS))
        stamp.write_text(made_for)
    return str(own)


class Server:
    """A running server. `url` is where it is from this machine."""

    def __init__(self, host="127.0.0.1", port=None, log=subprocess.DEVNULL):
        if port is None:
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self.process = subprocess.Popen([python(), "-m", "moto.server", "-H", host, "-p", str(port)], stdout=log, stderr=log)
        request = urllib.request.Request(f"{self.url}/replicas", method="PUT", headers={"Authorization": CREDENTIAL})
        for _ in range(150):
            try:
                urllib.request.urlopen(request, timeout=5).close()
                return
            except OSError:
                time.sleep(0.2)
        self.close()
        raise Unavailable("moto's server did not start")

    def close(self):
        self.process.terminate()
        self.process.wait()


def main():
    try:
        if sys.argv[1:] == ["--python"]:
            print(python())
        elif len(sys.argv) == 3 and sys.argv[1] == "--serve":
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
            with open(pathlib.Path(sys.argv[2]) / "moto.log", "wb") as log:
                server = Server(log=log)
            print(server.url, flush=True)
            try:
                sys.exit(server.process.wait())
            finally:
                server.close()
        else:
            sys.exit(__doc__)
    except Unavailable as reason:
        print(f"moto was not run: {reason}", file=sys.stderr)
        sys.exit(77)


if __name__ == "__main__":
    main()
