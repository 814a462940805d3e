"""Runs the machines of Tests/Proofs with seeds and time limits, and shows one table. Run through scripts/workshop/prove."""

import argparse
import os
import secrets
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
LOGS = ROOT / ".build" / "prove"

# The seconds that a machine may take beyond its minutes: its build, and the case that it is at when they are over.
SLACK = 40 * 60
SKIPPED = 77

HELP = """\
Runs the machines that look for what the tests do not think of, one after the other. Each has a seed and a time limit, says in one
line what it covered, and prints a line that begins with FOUND for each finding. A table at the end shows all of them. The exit
status is 1 if a machine found something or failed. Tests/Proofs/README.md explains each machine; the logs are in .build/prove."""


@dataclass(frozen=True)
class Machine:
    name: str
    looks_for: str
    # One line for the shell. Braces are replaced: bin (the folder of the programs), minutes, seed, and what `numbers` adds.
    command: str
    # Where it is. A machine that is not there is skipped.
    place: str
    # The program that is built first, as the tests are, so that they share what is compiled.
    product: str = ""
    # True if --minutes is only a share of the time that it takes, as it always does the whole.
    is_whole: bool = False


MACHINES = [
    Machine("model", "programs of calls that differ from a model of plaintext SQLite and Swift rules",
            "{bin}/Model --seed {seed} --minutes {minutes}", "Tests/Proofs/Model", product="Model"),
    Machine("crashes", "states after a power cut that are neither before nor after",
            "{bin}/CrashStates --seed {seed} --sample {samples}", "Tests/Proofs/CrashStates", product="CrashStates"),
    Machine("replica", "commits that a store acknowledged and lacks, and copies that are no state of the database",
            "{bin}/ReplicaProof --seed {seed} --minutes {minutes}", "Tests/Proofs/ReplicaProof", product="ReplicaProof"),
    Machine("faults", "allocations, opens, writes and syncs whose failure loses or leaks something",
            "SQLCIPHERKIT_LONG_TESTS=1 swift test --filter 'FaultSweepTests|KillSweepTests'", "Tests/FaultDriver", is_whole=True),
    Machine("fuzz", "bytes from outside that crash, hang or contradict",
            "./scripts/workshop/fuzz --minutes {each}", "scripts/workshop/fuzz"),
    Machine("memory", "uses of memory that was freed or belongs to something else",
            "./scripts/workshop/check-memory", "scripts/workshop/check-memory", is_whole=True),
    Machine("soak", "memory, descriptors, threads or files that grow when everything runs together",
            "./scripts/workshop/soak {minutes} --seed {seed}", "scripts/workshop/soak"),
    Machine("sqlite", "SQLite's own tests that fail on this engine and should not",
            "./scripts/workshop/check-sqlite", "scripts/workshop/check-sqlite", is_whole=True),
]


def numbers(minutes, seed):
    """The names that a machine's line may use. Fuzzing has 14 targets, two at a time."""
    return {"minutes": minutes, "seed": seed, "samples": 200 * minutes, "each": max(1, minutes // 7)}


class Stop(Exception):
    """An error that is shown to the user in one line."""


def say(text):
    print(f"prove: {text}", flush=True)


def binaries(product):
    """Builds a program and returns its folder."""
    build = ["swift", "build", "--product", product]
    log = LOGS / f"build-{product}.log"
    with open(log, "wb") as file:
        if subprocess.run(build, cwd=ROOT, stdout=file, stderr=subprocess.STDOUT, check=False).returncode != 0:
            raise Stop(f"building {product} failed: see {log.relative_to(ROOT)}")
    build = ["swift", "build", "--show-bin-path"]
    shown = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=True)
    return shown.stdout.splitlines()[-1]


def ended(process, seconds):
    """The status of a machine, or None if it did not end in time. It and what it started are killed then."""
    try:
        return process.wait(seconds)
    except BaseException as error:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if isinstance(error, subprocess.TimeoutExpired):
            return None
        raise


def run(machine, minutes, seed):
    """Runs one machine. Returns (result, what it covered, findings)."""
    if not (ROOT / machine.place).exists():
        return "skipped", f"{machine.place} is not here", []
    values = numbers(minutes, seed)
    if "{bin}" in machine.command:
        values["bin"] = binaries(machine.product)
    line = machine.command.format(**values)
    log = LOGS / f"{machine.name}.log"
    say(f"{machine.name}: {line}")
    with open(log, "wb") as file:
        # In a session of its own, so that all of it can be ended.
        process = subprocess.Popen(["bash", "-c", line], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
                                   start_new_session=True)
        status = ended(process, (4 if machine.is_whole else 1) * (minutes * 60 + SLACK))
    lines = [text.strip() for text in log.read_text(encoding="utf-8", errors="replace").splitlines() if text.strip()]
    findings = [text for text in lines if text.startswith("FOUND")]
    said = next((text for text in reversed(lines) if not text.startswith("FOUND")), "nothing said")
    if status == SKIPPED:
        return "skipped", said, []
    if status is None:
        findings.append("FOUND it did not end in its time")
    elif status != 0 and not findings:
        findings.append(f"FOUND it failed with status {status}; see {log.relative_to(ROOT)}")
    return "FOUND" if findings else "nothing", said, findings


def table(rows):
    """The summary, in columns as wide as they need."""
    rows = [("machine", "found", "minutes", "covered"), *rows]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return "\n".join("  ".join([*(cell.ljust(width) for cell, width in zip(row, widths)), row[3]]) for row in rows)


def main():
    parser = argparse.ArgumentParser(
        prog="scripts/workshop/prove", description=HELP, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=int, default=10, metavar="N",
                        help="how long each machine runs (default 10); those that do the whole of something take what it takes")
    parser.add_argument("--machine", action="append", metavar="NAME", choices=[machine.name for machine in MACHINES],
                        help="this machine only; may be repeated")
    parser.add_argument("--seed", type=int, metavar="N", help="where the random numbers begin (default: another one each time)")
    parser.add_argument("--list", action="store_true", help="print the names of the machines and what each looks for")
    options = parser.parse_args()
    if options.list:
        for machine in MACHINES:
            print(f"{machine.name:8} {machine.looks_for}")
        return 0
    if options.minutes < 1 or (options.seed is not None and options.seed < 0):
        parser.error("--minutes is 1 or more, --seed 0 or more")
    seed = secrets.randbelow(1_000_000) if options.seed is None else options.seed
    os.environ["SQLCIPHERKIT_DEVELOPMENT"] = "1"
    LOGS.mkdir(parents=True, exist_ok=True)
    chosen = [machine for machine in MACHINES if options.machine is None or machine.name in options.machine]
    say(f"seed {seed}, {options.minutes} minutes for each of {len(chosen)} machines")
    rows, found = [], 0
    for machine in chosen:
        begun = time.monotonic()
        try:
            result, covered, findings = run(machine, options.minutes, seed)
        except Stop as stop:
            result, covered, findings = "FAILED", str(stop), [f"FOUND {stop}"]
        for finding in findings:
            say(f"{machine.name}: {finding}")
        found += len(findings)
        rows.append((machine.name, str(len(findings)) if findings else result, f"{(time.monotonic() - begun) / 60:.1f}", covered))
    print(table(rows))
    return 1 if found else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
