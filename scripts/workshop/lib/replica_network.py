#!/usr/bin/env python3
"""Replicates between hosts whose lines fail, for scripts/workshop/check-replication.

usage: replica_network.py FOLDER PEER SECONDS

The store, the writer and the follower are in network namespaces of their own, joined by pairs of virtual devices. For SECONDS,
lines are cut and made slow, and lossy where the kernel has netem. Afterwards everything that was acknowledged must be in the store,
and the follower must have it too. Needs to be started with a network namespace of its own, in which it may do what it wants:
`unshare -rn`. Ends with status 77 and a sentence where that cannot be.
"""

import os
import pathlib
import random
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "lib"))
import moto_server  # noqa: E402

PORT = 9000
SHAPES = {
    "slow": ["tbf", "rate", "400kbit", "burst", "8kb", "latency", "300ms"],
    "lossy": ["netem", "delay", "80ms", "40ms", "loss", "10%"],
}


def run(*arguments, may_fail=False):
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode != 0 and not may_fail:
        raise RuntimeError(f"{' '.join(arguments)}: {done.stderr.strip()}")
    return done.returncode == 0


class Host:
    """A namespace with one line to this one."""

    def __init__(self, name, number):
        self.name, self.here, self.there = name, f"{name}0", f"{name}1"
        self.address, self.server = f"10.77.{number}.2", f"10.77.{number}.1"
        self.holder = subprocess.Popen(["unshare", "-n", "sleep", "infinity"])
        # Until it has its own namespace.
        own = os.readlink("/proc/self/ns/net")
        while os.readlink(f"/proc/{self.holder.pid}/ns/net") == own:
            time.sleep(0.01)
        run("ip", "link", "add", self.here, "type", "veth", "peer", "name", self.there, "netns", str(self.holder.pid))
        run("ip", "address", "add", f"{self.server}/24", "dev", self.here)
        run("ip", "link", "set", self.here, "up")
        run(*self.inside("ip", "link", "set", "lo", "up"))
        run(*self.inside("ip", "address", "add", f"{self.address}/24", "dev", self.there))
        run(*self.inside("ip", "link", "set", self.there, "up"))

    def inside(self, *arguments):
        return ["nsenter", "-t", str(self.holder.pid), "-n", *arguments]

    def start(self, peer, folder):
        log = open(folder / f"{self.name}.log", "wb")
        arguments = self.inside(peer, self.name, str(folder), f"http://{self.server}:{PORT}")
        return subprocess.Popen(arguments, stdout=log, stderr=log)

    def cut(self):
        run("ip", "link", "set", self.here, "down")

    def shape(self, *settings):
        """Both directions. Returns whether the kernel can do it."""
        for place in ([], self.inside()):
            device = self.there if place else self.here
            if not run(*place, "tc", "qdisc", "replace", "dev", device, "root", *settings, may_fail=True):
                return False
        return True

    def heal(self):
        run("ip", "link", "set", self.here, "up")
        run("tc", "qdisc", "delete", "dev", self.here, "root", may_fail=True)
        run(*self.inside("tc", "qdisc", "delete", "dev", self.there, "root"), may_fail=True)


class Check:
    def __init__(self, folder, peer, seconds):
        self.folder, self.peer, self.seconds = folder, peer, seconds
        self.random = random.Random(1)
        self.hosts, self.peers, self.kinds, self.done = [], {}, [], {}

    def number(self, name):
        try:
            return int((self.folder / name).read_text())
        except FileNotFoundError:
            return 0

    def examine(self):
        found = self.folder / "found"
        if found.exists():
            raise RuntimeError(f"the follower read: {found.read_text()}")
        for name, process in self.peers.items():
            if process.poll() is not None:
                raise RuntimeError(f"the {name} has ended: {self.said(name)}")

    def said(self, name):
        return (self.folder / f"{name}.log").read_text()[-1000:].strip()

    def wait(self, what, condition, seconds=120):
        start = time.monotonic()
        while not condition():
            self.examine()
            if time.monotonic() - start > seconds:
                raise RuntimeError(f"waited {seconds} seconds until {what}: {self.said('writer')} {self.said('follower')}")
            time.sleep(0.05)

    def disturb(self):
        """Does something to one or both lines for a while."""
        writer, follower = self.hosts
        chosen = self.random.choice([[writer], [follower], [writer, follower]])
        kind = self.kinds[sum(self.done.values()) % len(self.kinds)]
        for host in chosen:
            if kind == "cut":
                host.cut()
            else:
                host.shape(*SHAPES[kind])
        self.done[kind] = self.done.get(kind, 0) + 1
        pause = self.random.uniform(0.5, 4)
        if kind == "cut" and writer in chosen:
            # Requests on their way may still be acknowledged. Nothing else can be.
            time.sleep(1)
            before = self.number("stored")
            time.sleep(pause)
            if self.number("stored") != before:
                raise RuntimeError("a commit was acknowledged without a line to the store")
        else:
            time.sleep(pause)
        for host in chosen:
            host.heal()
        self.examine()

    def main(self):
        self.hosts = [Host("writer", 1), Host("follower", 2)]
        writer, follower = self.hosts
        self.kinds = ["cut"] + [kind for kind, shape in SHAPES.items() if writer.shape(*shape)]
        writer.heal()
        for kind in SHAPES.keys() - set(self.kinds):
            print(f"network: no line is {kind}, as the kernel has no {SHAPES[kind][0]}")
        self.peers["writer"] = writer.start(self.peer, self.folder)
        self.wait("a commit is stored", lambda: self.number("stored") > 0)
        self.peers["follower"] = follower.start(self.peer, self.folder)
        self.wait("the follower has a commit", lambda: self.number("followed") > 0)
        end = time.monotonic() + self.seconds
        while time.monotonic() < end:
            self.disturb()
            stored = self.number("stored")
            self.wait("commits are stored again", lambda: self.number("stored") > stored)
            if self.random.random() < 0.5:
                wanted = self.number("stored")
                self.wait("the follower has them", lambda: self.number("followed") >= wanted)
        # The host of the writer is lost.
        lost = self.peers.pop("writer")
        lost.kill()
        lost.wait()
        stored = self.number("stored")
        self.wait("the follower has everything", lambda: self.number("followed") >= stored)
        arguments = follower.inside(self.peer, "check", str(self.folder), f"http://{follower.server}:{PORT}")
        checked = subprocess.run(arguments, capture_output=True, text=True, check=False)
        if checked.returncode != 0:
            raise RuntimeError(f"the restore failed: {checked.stderr}")
        restored = int(checked.stdout)
        if restored < stored:
            raise RuntimeError(f"commit {stored} was acknowledged, and {restored} is restored")
        kinds = ", ".join(f"{count} times {kind}" for kind, count in sorted(self.done.items()))
        print(f"network: lines {kinds}; {stored} commits acknowledged, {restored} restored, {self.number('followed')} followed")


def main():
    folder, peer, seconds = pathlib.Path(sys.argv[1]), sys.argv[2], float(sys.argv[3])
    folder.mkdir(parents=True)
    try:
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "probe0", "type", "veth", "peer", "name", "probe1")
        run("ip", "link", "delete", "probe0")
    except (RuntimeError, OSError) as error:
        print(f"check-replication: lines between hosts were not tested: {error}", file=sys.stderr)
        sys.exit(77)
    check = Check(folder, peer, seconds)
    store = moto_server.Server(host="0.0.0.0", port=PORT, log=open(folder / "store.log", "wb"))
    try:
        check.main()
    except RuntimeError as error:
        sys.exit(f"replica_network: FOUND: {error}")
    finally:
        for process in [*check.peers.values(), *(host.holder for host in check.hosts), store.process]:
            process.kill()
            process.wait()


if __name__ == "__main__":
    main()
