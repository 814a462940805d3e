"""Benchmarks: what every suite shares, and the choice of one. Run through scripts/bench."""

import argparse
import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
import types
from pathlib import Path

LIB = Path(__file__).resolve().parent
ROOT = LIB.parent.parent
BUILD = ROOT / ".build" / "benchmarks"

HELP = """\
Builds the variants in release and runs them in turn, round by round, so that they share the machine's moods; prints
medians and ratios. A figure counts only as a ratio within one run, and nothing fails on time."""


class Stop(Exception):
    """An end that the user should read about in one line."""


def say(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def run(arguments, **options):
    """Runs a tool to its end and returns what it printed; shows that only where the tool fails."""
    try:
        done = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    except OSError as error:
        raise Stop(f"{arguments[0]} cannot be run: {error.strerror}") from None
    if done.returncode != 0:
        sys.stderr.write(done.stdout)
        raise Stop(f"{arguments[0]} failed")
    return done.stdout


def scratch():
    """Where databases go: memory, if a file system is in it, so that no disk is measured."""
    memory = Path("/dev/shm")
    return str(memory) if memory.is_dir() and os.access(memory, os.W_OK) else tempfile.gettempdir()


class Runner:
    """A process that has prepared one workload of one variant, and runs it for each line it is sent.

    The protocol: COMMAND alone prints the names of its workloads. COMMAND WORKLOAD FOLDER SCALE prepares, prints `ready`,
    and answers each empty line by a line of nanoseconds and check number."""

    def __init__(self, command, workload, folder, scale):
        folder.mkdir()
        self.process = subprocess.Popen(
            [*command, workload, str(folder), str(scale)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.expect("ready")

    def expect(self, wanted=None):
        line = self.process.stdout.readline().strip()
        if not line or (wanted and line != wanted):
            raise Stop(f"{' '.join(map(str, self.process.args))} ended early")
        return line

    def once(self):
        """Seconds, and the check number."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        nanoseconds, number = self.expect().split()
        return int(nanoseconds) / 1e9, number

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def measure(commands, offers, workload, rounds, scale):
    """The seconds of each round, by variant: {variant: [seconds, …]}."""
    names = [name for name in commands if workload in offers[name]]
    with tempfile.TemporaryDirectory(dir=scratch(), prefix="sqlcipherkit-bench-") as folder:
        runners = {}
        try:
            for name in names:
                runners[name] = Runner(commands[name], workload, Path(folder) / name, scale)
            # One round that does not count: caches fill, column names are learnt. Its numbers must agree.
            numbers = {name: runners[name].once()[1] for name in names}
            if len(set(numbers.values())) != 1:
                raise Stop(f"{workload}: the variants differ in their results: {numbers}")
            seconds = {name: [] for name in names}
            for index in range(rounds):
                # Each variant begins a round in turn, so that none has always the same one before it.
                turn = index % len(names)
                for name in names[turn:] + names[:turn]:
                    seconds[name].append(runners[name].once()[0])
            return seconds
        finally:
            for runner in runners.values():
                runner.close()


def module(name):
    """A module beside this one; `python -I` looks in Python's own folders alone."""
    spec = importlib.util.spec_from_file_location(name, LIB / f"{name}.py")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def suites():
    return {name: LIB / f"bench_{name}.py" for name in ("engine", "swift") if (LIB / f"bench_{name}.py").is_file()}


def arguments():
    parser = argparse.ArgumentParser(
        prog="scripts/bench", description=HELP, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="suite", required=True, metavar="SUITE")
    for name in suites():
        suite = module(f"bench_{name}")
        command = commands.add_parser(name, help=suite.HELP, description=suite.HELP)
        command.add_argument("--rounds", type=int, default=9, metavar="N", help="rounds per workload (default 9)")
        command.add_argument("--json", metavar="FILE", help="write the medians and ratios as JSON")
        command.add_argument("--svg", metavar="FILE", help="write a chart of the ratios")
        command.add_argument("--quick", action="store_true", help="a twentieth of the rows, to see that everything runs")
        command.add_argument("--only", metavar="WORKLOAD,…", help="these workloads alone")
    return parser.parse_args()


def main():
    options = arguments()
    if options.rounds < 1:
        raise Stop("--rounds needs a number over 0")
    suite = module(f"bench_{options.suite}")
    report = module("bench_swift_report")
    this = types.SimpleNamespace(ROOT=ROOT, BUILD=BUILD, Stop=Stop, say=say, run=run)
    commands = suite.build(this)
    offers = {name: run(command).split() for name, command in commands.items()}
    workloads = offers[suite.BASE] + [name for names in offers.values() for name in names if name not in offers[suite.BASE]]
    workloads = list(dict.fromkeys(workloads))
    if options.only:
        chosen = options.only.split(",")
        unknown = [name for name in chosen if name not in workloads]
        if unknown:
            raise Stop(f"no workload {', '.join(unknown)}; there are {', '.join(workloads)}")
        workloads = chosen
    seconds = {}
    for workload in workloads:
        say(workload)
        seconds[workload] = measure(commands, offers, workload, options.rounds, 20 if options.quick else 1)
    report.print_table(seconds, suite.VARIANTS)
    results = [each for workload in workloads for each in report.results(options.suite, workload, seconds[workload])]
    if options.json:
        report.write_json(options.json, results)
    if options.svg:
        report.write_svg(options.svg, results, suite.BASE, suite.VARIANTS, suite.TITLE)


if __name__ == "__main__":
    # A signal ends the run as an error does, so that processes and files go with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        main()
    except Stop as stop:
        sys.exit(f"bench: {stop}")
    except KeyboardInterrupt:
        sys.exit(130)
