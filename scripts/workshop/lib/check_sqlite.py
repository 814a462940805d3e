"""Runs SQLite's own tests on this package's engine and on SQLCipher's, and compares their failures with a list.

Run through scripts/workshop/check-sqlite."""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import sqlite_tests  # noqa: E402
from sqlite_failures import LIST, Failures  # noqa: E402
from sqlite_tests import ROOT, SOURCE, VERSION, WORK, Missing, Stop  # noqa: E402

# A raw key, so that opening a database takes no key derivation: the tests open tens of thousands.
KEY = "x'2DD29CA851E7B56E4697B0E1F08507293D761A05CE4D1B628663F411A8086D99'"
# For one file of tests. The longest takes half a minute.
SECONDS = 180
SKIPPED = 77

HELP = f"""\
Runs SQLite's own tests ("veryquick": 1,238 files with 400,000 tests) of version {VERSION} four times: on this package's engine and
on the pinned SQLCipher with OpenSSL, unchanged; without a key, and with a key for every database that the tests open. It fails if a
test fails that {LIST.name} does not list, or if one that is listed passes. That file also gives the reason where the two engines
differ.

The tests are in Debian's source package of SQLite, which apt fetches from where this machine gets its packages. Takes about 15
minutes on two cores."""


def say(text):
    print(f"check-sqlite: {text}", flush=True)


def very_quick(program):
    """The files of SQLite's suite "veryquick", by their paths in the source tree."""
    script = WORK / "list.tcl"
    script.write_text("set testdir [lindex $argv 0]\nset argv0 $testdir/list\nset argv {}\nsource $testdir/permutations.test\n"
                      'array set o $::testspec(veryquick)\nforeach f [lsort $o(-files)] { puts "FILE $f" }\nexit\n')
    output = sqlite_tests.command(program, script, SOURCE / "test", cwd=WORK)
    found = []
    for name in re.findall(r"^FILE (\S+)$", output, re.M):
        path = Path(name) if "/" in name else SOURCE / "test" / name
        found.append(str(path.resolve().relative_to(SOURCE)))
    if len(found) < 1000:
        raise Stop("SQLite's list of tests was not understood")
    return sorted(found)


class Bench:
    """Where the tests run. Some of them expect that a file can be read-only, so root runs them as another user."""

    def __init__(self, programs):
        # Outside of the checkout, which that user may not be able to enter.
        self.folder = Path(tempfile.mkdtemp(prefix="check-sqlite-"))
        self.identity = {}
        self.source = SOURCE
        self.programs = programs
        if os.getuid() == 0:
            self.identity = {"user": 65534, "group": 65534, "extra_groups": []}
            self.source = self.folder / "source"
            shutil.copytree(SOURCE, self.source)
            self.programs = {name: shutil.copy(program, self.folder / name) for name, program in programs.items()}
            self.folder.chmod(0o755)

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, engine, mode, name):
        """Runs one file of tests in a folder of its own. Returns what failed, and the number of tests."""
        folder = self.folder / f"{engine}-{mode}" / name.replace("/", "-")
        folder.mkdir(parents=True)
        if self.identity:
            os.chown(folder, 65534, 65534)
        environment = {"PATH": os.environ.get("PATH", ""), "HOME": str(folder), "LC_ALL": "C.UTF-8"}
        if mode == "keyed":
            environment["CHECK_SQLITE_KEY"] = KEY
        process = subprocess.Popen(
            [self.programs[engine], self.source / name], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True, **self.identity)
        try:
            output = process.communicate(timeout=SECONDS)[0].decode("utf-8", errors="replace")
            end = f"(signal {-process.returncode})" if process.returncode < 0 else ""
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, end = process.communicate()[0].decode("utf-8", errors="replace"), "(endless)"
        logs = WORK / "logs" / f"{engine}-{mode}"
        logs.mkdir(parents=True, exist_ok=True)
        (logs / f"{folder.name}.log").write_text(output)
        shutil.rmtree(folder, ignore_errors=True)
        failed = set(re.findall(r"^! (\S+) expected:", output, re.M))
        for names in re.findall(r"^!Failures on these tests: (.*)$", output, re.M):
            failed.update(names.split())
        count = re.search(r"^(\d+) errors out of (\d+) tests", output, re.M)
        # Files for other systems say nothing and end well.
        if count is None and not end and process.returncode != 0:
            end = "(stopped)"
        return failed | ({end} if end else set()), int(count.group(2)) if count else 0


def run_all(bench, engine, mode, names, jobs, expected):
    """Runs all files, and once more, alone, those that did not fail as expected. Returns the failures by file."""
    begun = time.monotonic()
    with ThreadPoolExecutor(jobs) as pool:
        results = dict(zip(names, pool.map(lambda name: bench.run(engine, mode, name), names)))
    differing = [name for name in names if any(expected.differences(engine, mode, name, results[name][0]))]
    for name in differing if len(differing) <= 40 else []:
        again = bench.run(engine, mode, name)
        if not any(expected.differences(engine, mode, name, again[0])):
            results[name] = again
    tests = sum(count for _, count in results.values())
    failed = {name: failures for name, (failures, _) in results.items() if failures}
    count = sum(map(len, failed.values()))
    say(f"{engine}, {mode}: {tests} tests in {len(names)} files, {count} failed in {len(failed)} files, in "
        f"{(time.monotonic() - begun) / 60:.1f} minutes")
    return failed, tests


def build(options):
    """Builds the two programs, from a source tree that is unpacked each time. Returns their paths."""
    WORK.mkdir(parents=True, exist_ok=True)
    engines = ["ours"] if options.ours else ["ours", "stock"]
    if not options.skip_build:
        sqlite_tests.unpack(options.offline)
        for engine in engines:
            say(f"building {engine}")
            sqlite_tests.build(engine)
    return {engine: WORK / engine / "testfixture" for engine in engines}


def main():
    parser = argparse.ArgumentParser(
        prog="scripts/workshop/check-sqlite", description=HELP, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", action="store_true", help="only this package's engine: half of the time")
    parser.add_argument("--file", action="append", metavar="NAME", help="only this file of tests, as select1; may be repeated")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2, metavar="N", help="how many files run at a time")
    parser.add_argument("--update", action="store_true", help="write the list from what fails; reasons that it has stay")
    parser.add_argument("--skip-build", action="store_true", help="use the programs of the last run")
    parser.add_argument("--from", dest="offline", metavar="DIR", help="take SQLite's source archive from DIR; use no network")
    options = parser.parse_args()
    if options.update and (options.ours or options.file):
        parser.error("--update is for a whole run")
    if not (ROOT / "Vendor" / "sqlcipher" / "sqlite3.c").exists():
        raise Stop("the engine's source is missing: run ./scripts/setup first")
    programs = build(options)
    names = very_quick(programs["ours"])
    if options.file:
        names = [name for name in names if Path(name).stem in options.file]
        if not names:
            raise Stop(f"there is no file of tests {', '.join(options.file)}")
    expected, found, total = Failures.read(), Failures(), 0
    bench = Bench(programs)
    try:
        for mode in ("plain", "keyed"):
            for engine in programs:
                failed, tests = run_all(bench, engine, mode, names, options.jobs, expected)
                found.add(engine, mode, failed)
                total += tests
    finally:
        bench.remove()
    if options.update:
        found.write(expected)
        say(f"wrote {LIST.name}; each line that ends with a question mark needs its reason")
        return 0
    problems = expected.problems(found, list(programs), names)
    for problem in problems:
        print(f"FOUND {problem}")
    say(f"{total} tests of SQLite, {len(problems)} unexpected differences; the logs are in .build/{WORK.name}/logs")
    return 1 if problems else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Missing as missing:
        print(f"check-sqlite: skipped, {missing}", file=sys.stderr)
        sys.exit(SKIPPED)
    except Stop as stop:
        sys.exit(f"check-sqlite: {stop}")
    except KeyboardInterrupt:
        sys.exit(130)
