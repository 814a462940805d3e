"""The parts that the suites of scripts/bench share: their folders, running a tool, and building their programs in release."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
WORK = ROOT / ".build" / "benchmarks"
PACKAGE = ROOT / "Tests" / "Benchmarks"


class Stop(Exception):
    """An error that is shown to the user in one line."""


def say(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def command(arguments, **options):
    """Runs a tool and returns its output. What it says otherwise is shown only if it fails."""
    try:
        result = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    except OSError as error:
        raise Stop(f"{arguments[0]} cannot be run: {error.strerror}") from None
    if result.returncode != 0:
        sys.stderr.write(result.stdout + result.stderr)
        raise Stop(f"{' '.join(map(str, arguments[:3]))} … failed")
    return result.stdout


def built(graph, note="", skips=False):
    """Builds the programs of a graph of the benchmarks' package, as a user of the library has it. Returns their folder.

    With `skips`, those of the last build are taken."""
    scratch = WORK / graph / "build"
    options = ["--package-path", str(PACKAGE), "--scratch-path", str(scratch), "-c", "release"]
    environment = {name: value for name, value in os.environ.items() if name != "SQLCIPHERKIT_DEVELOPMENT"}
    environment["SQLCIPHERKIT_BENCHMARK"] = graph
    if not skips:
        say(f"building in release{note}")
        # SwiftPM's plan keeps the files of a package that it has by its path, and does not notice that one came or went.
        for plan in (*scratch.glob("release.yaml"), *scratch.glob("*/release/description.json")):
            plan.unlink()
        command(["swift", "build", *options], env=environment)
    return Path(command(["swift", "build", *options, "--show-bin-path"], env=environment).splitlines()[-1])
