#!/usr/bin/env python3
"""Runs OpenStack Swift with its s3api on the loopback, for scripts/workshop/check-replication.

usage: openstack_swift.py FOLDER

Four servers (account, container, object, proxy) on free ports, one replica, one device: a folder in FOLDER, which needs extended
attributes. Makes the bucket `replicas`, prints the URL, and runs until it is ended. It uses the Python modules of Debian's package
python3-swift and nothing outside FOLDER. Ends with status 77 and a sentence where that cannot be.
"""

import base64
import getpass
import hashlib
import hmac
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from email.utils import formatdate

KEY, SECRET = "test:tester", "testing"
SERVERS = ["account", "container", "object", "proxy"]

COMMON = """[DEFAULT]
bind_ip = 127.0.0.1
bind_port = {port}
workers = 0
user = {user}
swift_dir = {folder}
devices = {folder}/devices
mount_check = false
fallocate_reserve = 0
log_address = {folder}/no-syslog
"""

STORAGE = """
[pipeline:main]
pipeline = {server}-server

[app:{server}-server]
use = egg:swift#{server}
"""

PROXY = """
[pipeline:main]
pipeline = catch_errors gatekeeper no_cache s3api tempauth bulk slo proxy-server

[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true

[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = {secret} .admin

[filter:s3api]
use = egg:swift#s3api

[filter:catch_errors]
use = egg:swift#catch_errors

[filter:gatekeeper]
use = egg:swift#gatekeeper

[filter:no_cache]
paste.filter_factory = openstack_swift:no_cache_factory

[filter:bulk]
use = egg:swift#bulk

[filter:slo]
use = egg:swift#slo
"""

# One server in a process. Swift's own programs read /etc/swift/swift.conf.
RUN = """
import os, sys
from swift.common import utils
utils.SWIFT_CONF_FILE = sys.argv[1] + "/swift.conf"
utils.HASH_PATH_PREFIX = utils.HASH_PATH_SUFFIX = b""
utils.validate_hash_conf()
from swift.common.wsgi import run_wsgi
sys.exit(run_wsgi(f"{sys.argv[1]}/{sys.argv[2]}.conf", sys.argv[2] + "-server"))
"""

# Swift's ring builder.
RING = "import sys; from swift.cli.ringbuilder import main; sys.exit(main(['ring'] + sys.argv[1:]))"


class NoCache:
    """In the place of memcached, without which tempauth does nothing."""

    def get(self, *_, **__):
        return None

    def get_multi(self, keys, *_, **__):
        return [None for _ in keys]

    set = set_multi = delete = get

    def incr(self, *_, **__):
        return 1

    decr = incr


def no_cache_factory(*_, **__):
    def middleware(app):
        def call(environment, start_response):
            environment["swift.cache"] = NoCache()
            return app(environment, start_response)

        return call

    return middleware


def unable(reason):
    print(f"OpenStack Swift was not run: {reason}", file=sys.stderr)
    sys.exit(77)


def require(folder):
    try:
        import eventlet.green  # noqa: F401
        import swift.common.middleware.s3api.s3api  # noqa: F401
    except ImportError as error:
        unable(f"{error} (scripts/setup --replication installs it on Debian and Ubuntu)")
    probe = folder / "probe"
    probe.write_bytes(b"")
    try:
        # Swift keeps its metadata there.
        os.setxattr(probe, "user.swift.metadata", b"x" * 2048)
    except OSError as error:
        unable(f"the file system of {folder} has no extended attributes: {error.strerror}")
    probe.unlink()


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def write_settings(folder, ports):
    (folder / "devices" / "d1").mkdir(parents=True)
    (folder / "swift.conf").write_text("[swift-hash]\nswift_hash_path_prefix = here\nswift_hash_path_suffix = there\n")
    for server, port in ports.items():
        text = COMMON + (PROXY if server == "proxy" else STORAGE)
        text = text.format(port=port, user=getpass.getuser(), folder=folder, server=server, secret=SECRET)
        (folder / f"{server}.conf").write_text(text)


def make_rings(folder, ports):
    for server in SERVERS[:3]:
        builder = str(folder / f"{server}.builder")
        for arguments in (["create", "4", "1", "0"], ["add", f"r1z1-127.0.0.1:{ports[server]}/d1", "1"], ["rebalance"]):
            done = subprocess.run(
                [sys.executable, "-c", RING, builder, *arguments], cwd=folder, capture_output=True, text=True, check=False)
            # 1 is a warning.
            if done.returncode not in (0, 1):
                sys.exit(f"openstack_swift: the ring of {server} could not be made: {done.stdout}{done.stderr}")


def make_bucket(url, bucket):
    """Signs with Amazon's version 2 for brevity."""
    date = formatdate(usegmt=True)
    text = f"PUT\n\n\n{date}\n/{bucket}"
    signature = base64.b64encode(hmac.new(SECRET.encode(), text.encode(), hashlib.sha1).digest()).decode()
    headers = {"Date": date, "Authorization": f"AWS {KEY}:{signature}"}
    urllib.request.urlopen(urllib.request.Request(f"{url}/{bucket}", method="PUT", headers=headers), timeout=10)


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True)
    require(folder)
    ports = dict(zip(SERVERS, free_ports(4)))
    write_settings(folder, ports)
    make_rings(folder, ports)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    processes = []
    try:
        for server in SERVERS:
            log = open(folder / f"{server}.log", "wb")
            environment = os.environ | {"PYTHONPATH": str(pathlib.Path(__file__).parent), "PYTHONDONTWRITEBYTECODE": "1"}
            processes.append(subprocess.Popen(
                [sys.executable, "-c", RUN, str(folder), server], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                stdout=log, stderr=log))
        url, start = f"http://127.0.0.1:{ports['proxy']}", time.monotonic()
        while True:
            time.sleep(0.2)
            try:
                make_bucket(url, "replicas")
                break
            except (urllib.error.URLError, OSError) as error:
                ended = [name for name, process in zip(SERVERS, processes) if process.poll() is not None]
                if isinstance(error, urllib.error.HTTPError):
                    error = f"{error}: {error.read()}"
                if ended or time.monotonic() - start > 60:
                    logs = "".join((folder / f"{name}.log").read_text() for name in ended or ["proxy"])
                    sys.exit(f"openstack_swift: the servers do not start: {error}\n{logs}")
        print(url, flush=True)
        while all(process.poll() is None for process in processes):
            time.sleep(0.5)
        sys.exit("openstack_swift: a server has ended")
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait()


if __name__ == "__main__":
    main()
