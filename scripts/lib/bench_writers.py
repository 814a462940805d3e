"""Measures how processes that write to one database share it, and how long they wait. Run through scripts/bench."""

import argparse
import os
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path

from bench_build import ROOT, Stop, command, say

# Each process of a case: the pause after a transaction and what a transaction waits for while it has the lock, in microseconds.
EAGER, RARE, POLITE, LONG = (0, 0), (200_000, 0), (10_000, 0), (0, 150_000)
ACTIONS = {"rollback journal": "pool-shares-by-queue", "write-ahead log": "pool-shares"}


def span(milliseconds):
    return f"{milliseconds / 1000:.1f} s" if milliseconds >= 1000 else f"{milliseconds:.0f} ms"


def run(driver, action, processes, seconds, folder):
    """What each process has printed: commits, busy calls, the median, the 99th percentile and the longest of the calls' times."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        path = Path(place) / "a.db"
        # The one that makes the file.
        command([driver, action, path, "k", "w", "1", "0"])
        started = [subprocess.Popen([driver, action, path, "k", f"w{number}", str(round(seconds * 1000)), str(pause), str(length)],
                                    stdout=subprocess.PIPE, text=True)
                   for number, (pause, length) in enumerate(processes)]
        outputs = [process.communicate()[0] for process in started]
    if any(process.returncode != 0 for process in started):
        raise Stop("a process failed")
    return [[float(part) for part in output.splitlines()[1].split()] for output in outputs]


def column(driver, action, seconds, folder):
    """The figures of one journal mode, in the order of the rows."""
    equal = run(driver, action, [EAGER] * 4, seconds, folder)
    shares = sorted(100 * one[0] / sum(each[0] for each in equal) for one in equal)
    beside, polite = (run(driver, action, [other] * 3 + [RARE], seconds, folder)[3] for other in (EAGER, POLITE))
    small = run(driver, action, [POLITE] * 2 + [LONG], seconds, folder)
    busy = [f"{sum(one[1] for one in some):.0f} of {sum(one[0] + one[1] for one in some):,.0f}" for some in (equal, small[:2])]
    return [f"{shares[0]:.0f} to {shares[-1]:.0f}% of the commits", busy[0],
            *(f"median {span(one[2])}, longest {span(one[4])}" for one in (beside, polite)),
            f"{busy[1]}; longest {span(max(one[4] for one in small[:2]))}"]


ROWS = ["shares of four processes that never pause", "calls of these four that threw `DatabaseError.Reason.busy`",
        "a call of a fourth process that writes every 200 ms, beside three that never pause",
        "the same, if the three pause for 10 ms after each transaction",
        "busy calls of two such processes, beside one with transactions of 150 ms that never pauses, and the longest call"]


def main():
    parser = argparse.ArgumentParser(
        prog="scripts/bench writers", description=__doc__.split(" Run")[0] + " Prints the table of the article Performance.")
    parser.add_argument("--seconds", type=float, default=20, help="for each of the ten runs (default: 20)")
    parser.add_argument("--folder", help="where the database is (default: the folder for temporary files); it must be on a disk")
    options = parser.parse_args()
    environment = {**os.environ, "SQLCIPHERKIT_DEVELOPMENT": "1", "SQLCIPHERKIT_TESTS": "FaultDriver"}
    say("building")
    command(["swift", "build", "--product", "FaultDriver"], cwd=ROOT, env=environment)
    binaries = command(["swift", "build", "--show-bin-path"], cwd=ROOT, env=environment).strip()
    before = os.getloadavg()[0]
    columns = [column(Path(binaries) / "FaultDriver", action, options.seconds, options.folder) for action in ACTIONS.values()]
    print(f"{date.today()}, {os.cpu_count()} cores, load average {before:.1f} before and {os.getloadavg()[0]:.1f} after, "
          f"{options.seconds:g} seconds each\n")
    print("\n".join(["| measure | " + " | ".join(ACTIONS) + " |", "|---" * (len(ACTIONS) + 1) + "|",
                     *(f"| {row} | " + " | ".join(figures) + " |" for row, *figures in zip(ROWS, *columns))]))


if __name__ == "__main__":
    try:
        main()
    except Stop as stop:
        sys.exit(f"bench: {stop}")
