"""Fuzzing of everything that takes bytes from outside, with libFuzzer. Run through scripts/workshop/fuzz."""

import argparse
import base64
import concurrent.futures
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
WORK = ROOT / ".build" / "fuzz"
BUILD = ROOT / ".build" / "fuzz-build"
PROGRAM = BUILD / "release" / "SQLCipherKitPackageTests.xctest"
COMMAND = [str(PROGRAM), "--testing-library", "swift-testing", "--filter", "libFuzzerRunsChosenTarget"]
AGAIN = WORK / "bin" / "fuzz"
SEEDS = ROOT / "Tests" / "FuzzTests" / "Seeds"
DONE = ROOT / "Tests" / "Proofs" / "Fuzzed.txt"
TARGETS = ("database", "log", "journal", "slots", "page", "notes", "replica", "run", "jsonb", "json", "changeset", "message",
           "query", "tokens", "vectors", "script", "csv", "jsonlines", "vectorlines", "arguments")
# The seeds of one target in the repository, compressed and as text.
SEEDS_SIZE = 24 << 10
SKIPPED = 77

HELP = """\
Feeds mutated input to everything that takes bytes from outside, guided by the code that each input reaches (libFuzzer, with the
address sanitizer). A crash, foreign memory, a hang or a contradiction is a finding: its input is printed and kept in
.build/fuzz/TARGET. Put it into Tests/FuzzTests/Findings/TARGET once it is mended, and the tests try it from then on.

Builds everything into a folder of its own first, which takes about 10 minutes on two cores. Then each target runs for as long as
you say. What it has learned stays in .build/fuzz, and the next run goes on from there."""

HEAD = """\
# The minutes of one core that each target has been fuzzed without a finding, by scripts/workshop/fuzz --keep. Take a target's
# line out when you rewrite what it feeds.
"""


class Stop(Exception):
    """An error that is shown to the user in one line."""


def say(text):
    print(f"fuzz: {text}", flush=True)


def build():
    """Builds the tests with libFuzzer and the sanitizer."""
    # Beside the compiler that reads the toolchain's modules.
    resources = subprocess.run(["clang", "-print-resource-dir"], capture_output=True, text=True, check=True).stdout.strip()
    library = Path(resources) / "lib" / "linux" / f"libclang_rt.fuzzer_no_main-{platform.machine()}.a"
    if not library.exists():
        print(f"fuzz: skipped, this toolchain has no libFuzzer ({library})", file=sys.stderr)
        sys.exit(SKIPPED)
    say("building, which takes about 10 minutes the first time")
    # The linker that Swift takes by default cannot read the debug information of the sanitizer's runtime.
    flags = """-Xswiftc -enable-testing -Xswiftc -DSQLCIPHERKIT_TESTABLE -Xswiftc -sanitize=address -Xswiftc -use-ld=lld
        -Xswiftc -sanitize-coverage=edge,trace-cmp,inline-8bit-counters,pc-table -Xcc -fsanitize=address,fuzzer-no-link
        -Xlinker --undefined=LLVMFuzzerRunDriver -Xlinker -lstdc++""".split()
    command = ["swift", "build", "--build-tests", "-c", "release", "--scratch-path", str(BUILD), *flags, "-Xlinker", str(library)]
    log = WORK / "build.log"
    with open(log, "wb") as file:
        if subprocess.run(command, cwd=ROOT, stdout=file, stderr=subprocess.STDOUT, check=False).returncode != 0:
            raise Stop(f"the build failed: see {log.relative_to(ROOT)}")
    # libFuzzer starts its program, by the name of `fuzz`, again to choose seeds.
    AGAIN.parent.mkdir(exist_ok=True)
    AGAIN.write_text("#!/bin/sh\nSQLCIPHERKIT_FUZZ_ARGUMENTS=$(printf '%s\\n' \"$@\") exec " + shlex.join(COMMAND) + "\n")
    AGAIN.chmod(0o755)


@dataclass
class Target:
    name: str
    # A folder for its files, in memory where there is such a one: the targets write many small files.
    files: Path

    @property
    def folder(self):
        return WORK / self.name

    def start(self, log, *arguments):
        """Runs libFuzzer on the target's corpus. Returns the exit status."""
        corpus = self.folder / "corpus"
        corpus.mkdir(parents=True, exist_ok=True)
        self.files.mkdir(exist_ok=True)
        environment = {
            **os.environ, "TMPDIR": str(self.files), "SQLCIPHERKIT_FUZZ_TARGET": self.name,
            "SQLCIPHERKIT_FUZZ_CORPUS": str(corpus), "SQLCIPHERKIT_FUZZ_ARGUMENTS": "\n".join(arguments),
            "PATH": f"{AGAIN.parent}:{os.environ['PATH']}",
            # The engine keeps pages after use: other tests look for leaks.
            "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        }
        with open(log, "wb") as file:
            return subprocess.run(COMMAND, env=environment, stdout=file, stderr=subprocess.STDOUT, check=False).returncode

    def fuzz(self, minutes):
        """Returns the number of inputs and what they reached, or None if there is a finding."""
        self.take_seeds()
        log = self.folder / "log"
        status = self.start(log, f"-max_total_time={minutes * 60}", "-timeout=20", "-rss_limit_mb=4096", "-print_final_stats=1",
                            f"-artifact_prefix={self.folder}/")
        text = log.read_text(errors="replace")
        if status != 0:
            telling = [line for line in text.splitlines()
                       if re.search(rf"^{self.name}: |SUMMARY:|Test unit written|^Base64:", line)] or text.splitlines()[-5:]
            print("\n".join([f"FOUND {self.name}: see {log.relative_to(ROOT)}", *telling]), flush=True)
            return None
        inputs = re.findall(r"^stat::number_of_executed_units: *(\d+)", text, re.M)
        edges = re.findall(r"cov: (\d+)", text)
        if not inputs or not edges:
            raise Stop(f"{self.name}: libFuzzer did not run; see {log.relative_to(ROOT)}")
        say(f"{self.name}: nothing found in {inputs[-1]} inputs, {edges[-1]} edges")
        return int(inputs[-1]), int(edges[-1])

    # --- What the repository keeps

    def take_seeds(self):
        """Puts the repository's seeds into the corpus."""
        (self.folder / "corpus").mkdir(parents=True, exist_ok=True)
        if (SEEDS / self.name).exists():
            for number, line in enumerate((SEEDS / self.name).read_text().split()):
                (self.folder / "corpus" / f"kept-{number}").write_bytes(zlib.decompress(base64.b64decode(line)))

    def keep_seeds(self):
        """Replaces the seeds with a few that together reach what the corpus reaches, without the largest if they are too many."""
        chosen = self.folder / "chosen"
        shutil.rmtree(chosen, ignore_errors=True)
        chosen.mkdir(parents=True)
        log = self.folder / "merge-log"
        if self.start(log, "-set_cover_merge=1", str(chosen)) != 0:
            raise Stop(f"{self.name}: its seeds could not be chosen; see {log.relative_to(ROOT)}")
        seeds = [base64.b64encode(zlib.compress(path.read_bytes(), 9)).decode() for path in chosen.iterdir()]
        lines, size = [], 0
        for seed in sorted(seeds, key=lambda seed: (len(seed), seed)):
            size += len(seed) + 1
            if size > SEEDS_SIZE:
                break
            lines.append(seed)
        SEEDS.mkdir(exist_ok=True)
        (SEEDS / self.name).write_text("".join(f"{line}\n" for line in lines))


def keep(target, minutes, inputs, edges):
    """Adds what a target has done to the list, and keeps its seeds."""
    target.keep_seeds()
    lines = [line.split() for line in DONE.read_text().splitlines() if not line.startswith("#")] if DONE.exists() else []
    done = {name: (int(minutes), int(inputs), int(edges)) for name, minutes, inputs, edges in lines[1:]}
    before = done.get(target.name, (0, 0, 0))
    done[target.name] = (before[0] + minutes, before[1] + inputs, max(before[2], edges))
    rows = [("target", "minutes", "inputs", "edges"), *((name, *done[name]) for name in TARGETS if name in done)]
    DONE.write_text(HEAD + "".join(f"{name:10} {minutes:>7} {inputs:>11} {edges:>6}\n" for name, minutes, inputs, edges in rows))


def main():
    parser = argparse.ArgumentParser(
        prog="scripts/workshop/fuzz", description=HELP, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", nargs="*", metavar="TARGET", help="these only (default: all)")
    parser.add_argument("--minutes", type=int, default=1, metavar="N", help="how long each target runs (default 1)")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="how many targets run at a time (default 2)")
    parser.add_argument("--keep", action="store_true",
                        help="add the time to Tests/Proofs/Fuzzed.txt, and the best inputs to Tests/FuzzTests/Seeds")
    parser.add_argument("--list", action="store_true", help="print the names of the targets")
    options = parser.parse_args()
    if options.list:
        print("\n".join(TARGETS))
        return 0
    unknown = [name for name in options.target if name not in TARGETS]
    if unknown or options.minutes < 1 or options.jobs < 1:
        parser.error(f"there is no target {unknown[0]}" if unknown else "--minutes and --jobs are 1 or more")
    os.environ.update(SQLCIPHERKIT_DEVELOPMENT="1", SQLCIPHERKIT_FUZZING="1")
    subprocess.run([ROOT / "scripts" / "setup", "--tests"], check=True)
    WORK.mkdir(parents=True, exist_ok=True)
    build()
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="sqlcipherkit-fuzz.", dir=shared if os.access(shared, os.W_OK) else None) as files:
        targets = [Target(name, Path(files) / name) for name in options.target or TARGETS]
        findings = 0
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as workers:
            runs = {workers.submit(target.fuzz, options.minutes): target for target in targets}
            for run in concurrent.futures.as_completed(runs):
                result = run.result()
                if result is None:
                    findings += 1
                elif options.keep:
                    keep(runs[run], options.minutes, *result)
    say(f"{findings} of {len(targets)} targets have a finding" if findings else f"nothing found in {len(targets)} targets")
    return 1 if findings else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Stop as stop:
        sys.exit(f"fuzz: {stop}")
    except KeyboardInterrupt:
        sys.exit(130)
