"""GRDB's own tests on this package's engine, and both Swift layers on one file. Run through scripts/workshop/check-grdb."""

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "scripts" / "lib"))
import grdb  # noqa: E402

WORK = ROOT / ".build" / "check-grdb"
GRDB = WORK / "GRDB.swift"
LAYERS = ROOT / "Tests" / "GRDBLayers"

# Key derivation at -O0 would take most of the time.
FLAGS = ["-Xcc", "-O2"]
ENCRYPTED = ["-Xswiftc", "-DGRDBCIPHER_USE_ENCRYPTION"]

# GRDB's tests that fail on this engine, and why.
EXPECTED = {
    "DatabaseQueueInMemoryTests.test_shared_in_memory_database": "the shared cache is an error",
    "DatabaseQueueInMemoryTests.test_shared_in_memory_databases_are_shared_by_name": "the shared cache is an error",
    "Issue1838Tests.test_interrupted_commit": "it expects an interrupted commit to fail, which was a bug of an older FTS5",
}

HELP = """\
Fetches GRDB as it is published, switches on its SQLCipher option as its README says, with this package's product SQLCipher, and
runs GRDB's own tests with every database encrypted. It fails if a test fails that is not known to differ, or if one that is known
to differ passes. Then GRDB and SQLCipherKit write to one file, first in turns, then at the same time in two processes. The program
that does so has a library that depends on GRDB by its URL, and gets the same GRDB."""


class Stop(Exception):
    """An error that is shown to the user in one line."""


def say(text):
    print(f"check-grdb: {text}", flush=True)


def run(arguments, what, **options):
    """Runs a command and returns its output, which is shown only if the command fails."""
    done = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
                          **options)
    if done.returncode != 0:
        print(done.stdout[-6000:], file=sys.stderr)
        raise Stop(f"{what} failed")
    return done.stdout


# --- GRDB's own tests -------------------------------------------------------------------------------------------------


def prepare():
    try:
        grdb.on_engine(GRDB, grdb.by_path(ROOT))
    except grdb.Unexpected as problem:
        raise Stop(str(problem)) from problem


def swift_test(*arguments):
    command = ["swift", "test", "--package-path", str(GRDB), "--scratch-path", str(WORK / "build"), "--skip-build"]
    return subprocess.run(
        [*command, *FLAGS, *ENCRYPTED, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    ).stdout


def results(output):
    """The names of test cases that passed, failed and were skipped. A test in which the process crashed counts as failed."""
    passed = set(re.findall(r"^Test Case '(\S+)' passed", output, re.MULTILINE))
    failed = set(re.findall(r"^Test Case '(\S+)' failed", output, re.MULTILINE))
    skipped = set(re.findall(r"^Test Case '(\S+)' skipped", output, re.MULTILINE))
    started = set(re.findall(r"^Test Case '(\S+)' started", output, re.MULTILINE))
    return passed, failed | (started - passed - skipped), skipped


def check_tests():
    say(f"building GRDB {grdb.VERSION} and its tests on this engine")
    begun = time.monotonic()
    run(["swift", "build", "--package-path", str(GRDB), "--scratch-path", str(WORK / "build"), "--build-tests", *FLAGS, *ENCRYPTED],
        "building GRDB's tests")
    say(f"built in {time.monotonic() - begun:.0f} s; running them, encrypted")
    begun = time.monotonic()
    output = swift_test()
    (WORK / "tests.log").write_text(output)
    passed, failed, skipped = results(output)
    # Some tests wait a fixed time for threads that a busy machine may not run in time: failed tests run once more, alone.
    again = sorted(failed - set(EXPECTED))
    for name in again if len(again) <= 20 else []:
        if name in results(swift_test("--filter", f"^GRDBTests.{name.replace('.', '/')}$"))[0]:
            say(f"{name} passed when it was run again, alone")
            failed.discard(name)
            passed.add(name)
    say(f"{len(passed)} of {len(passed) + len(failed)} tests passed, {len(skipped)} skipped, in {time.monotonic() - begun:.0f} s")
    for name, reason in sorted(EXPECTED.items()):
        if name in failed:
            say(f"as expected, {name} fails: {reason}")
    problems = [f"{name} fails" for name in sorted(failed - set(EXPECTED))]
    problems += [f"{name} no longer fails: take it out of EXPECTED" for name in sorted(set(EXPECTED) - failed)]
    if len(passed) < 2700:
        problems.append("fewer tests ran than GRDB has")
    for problem in problems:
        say(problem)
    if problems:
        raise Stop(f"GRDB's tests differ; their output is in {WORK.relative_to(ROOT) / 'tests.log'}")


# --- Both layers on one file ------------------------------------------------------------------------------------------


def check_layers():
    say("building a program with GRDB and SQLCipherKit in it")
    place = ["--package-path", str(LAYERS), "--scratch-path", str(WORK / "layers"), *FLAGS]
    run(["swift", "build", *place], "building it")
    folder = run(["swift", "build", *place, "--show-bin-path"], "asking for its folder").splitlines()[-1]
    program = str(Path(folder) / "GRDBLayers")
    file = WORK / "layers.db"

    def clean():
        for path in WORK.glob("layers.db*"):
            path.unlink()

    clean()
    print(run([program, "turns", str(file)], "writing one file in turns"), end="")
    clean()
    run([program, "create", str(file)], "making the file")
    rows = 400
    writers = [subprocess.Popen([program, layer, str(file), str(rows)]) for layer in ("fill-grdb", "fill-kit")]
    if any([writer.wait() for writer in writers]):
        raise Stop("two processes that write one file at once failed")
    print(run([program, "count", str(file), str(rows)], "counting what two processes have written"), end="")
    if file.read_bytes()[:16] == b"SQLite format 3\0":
        raise Stop("the file is plaintext")
    clean()


def main():
    parser = argparse.ArgumentParser(
        prog="scripts/workshop/check-grdb", description=HELP, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", action="store_true", help="only both layers on one file")
    options = parser.parse_args()
    if not (ROOT / "Vendor" / "sqlcipher" / "sqlite3.c").exists():
        raise Stop("the engine's source is missing: run ./scripts/setup first")
    # With this variable set, SwiftPM would also build the tool and the tests, which a package that only uses the engine needs not.
    os.environ.pop("SQLCIPHERKIT_DEVELOPMENT", None)
    prepare()
    if not options.layers:
        check_tests()
    check_layers()
    say("no unexpected difference")


if __name__ == "__main__":
    try:
        main()
    except Stop as stop:
        sys.exit(f"check-grdb: {stop}")
    except KeyboardInterrupt:
        sys.exit(130)
