"""Builds the engines that are compared, runs their workloads in turn, and shows the figures. Run through scripts/bench."""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import bench_report  # noqa: E402
from bench_build import ROOT, Stop, say  # noqa: E402

WORK = ROOT / ".build" / "bench-engine"
DRIVER = ROOT / "Tests" / "Benchmarks" / "Engine"
ENGINE = ROOT / "Sources" / "CSQLCipher"

# SQLite3 Multiple Ciphers as its Python package bundles it.
MC_PACKAGE = "apsw-sqlite3mc==3.54.0.0"
MC_ARCHIVE = "apsw_sqlite3mc-3.54.0.0.tar.gz"
MC_SHA256 = "60a021cd9f6c8f3e2aa6cb54e197cb344379d5eb9a688b7647a136fc24956db4"
MC_MEMBER = "apsw_sqlite3mc-3.54.0.0/sqlite3/sqlite3.c"

VARIANTS = ["plain", "ltc-stock", "openssl", "sqlite3mc", "ours", "ours-no-avx512"]
WORKLOADS = {
    "open-passphrase": "open with a passphrase, key derivation included",
    "open-raw": "open with a raw key and read the schema",
    "insert": "insert rows into a new database, in transactions",
    "scan": "read every row of the large table, with a small page cache",
    "lookup-small-cache": "read rows by their keys, in random order, with a cache of 100 pages",
    "lookup-default": "the same with the default page cache",
    "fts-build": "create a full-text index of documents",
    "fts-query": "search the full-text index",
    "rekey": "re-encrypt the large database with another key (plain: vacuum)",
    "vacuum": "rewrite the large database without free pages",
    "scan-2-threads": "read every row in two threads, each with its own connection",
}
FULL_ROWS = 1_450_000
QUICK_ROWS = 150_000

# Peers keep SQLite's own default for the page cache: this package's default is part of the comparison.
PEER_CACHE = "-DSQLITE_DEFAULT_CACHE_SIZE=-2000"


def command(*arguments):
    result = subprocess.run([str(a) for a in arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode != 0:
        raise Stop(f"{' '.join(str(a) for a in arguments[:4])} … failed: {result.stdout.strip()[-600:]}")
    return result.stdout


# --- Building ---------------------------------------------------------------------------------------------------------


def fetch_mc():
    """Fetches the amalgamation of SQLite3 Multiple Ciphers from the package index that pip is configured for."""
    source = WORK / "sqlite3mc.c"
    if source.exists():
        return source
    with tempfile.TemporaryDirectory() as scratch:
        command(sys.executable, "-m", "venv", f"{scratch}/venv")
        python = f"{scratch}/venv/bin/python"
        command(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:",
                "--require-hashes", "-r", ROOT / "scripts" / "lib" / "download-requirements.txt")
        command(python, "-m", "unearth", "--no-binary", "--download", scratch, MC_PACKAGE)
        archive = Path(scratch) / MC_ARCHIVE
        found = hashlib.sha256(archive.read_bytes()).hexdigest()
        if found != MC_SHA256:
            raise Stop(f"{MC_ARCHIVE}: expected SHA-256 {MC_SHA256}, found {found}")
        with tarfile.open(archive) as tar:
            source.write_bytes(tar.extractfile(MC_MEMBER).read())
    return source


def compile_object(target, source, *flags):
    compiler = shutil.which("clang") or shutil.which("cc")
    command(compiler, "-O2", "-std=gnu11", "-w", *flags, "-c", source, "-o", target)
    return target


def with_memory(target, *flags):
    """The engine, and what wipes its memory."""
    sources = [ENGINE / "System" / "secure.c", ENGINE / "Provider" / "Kernels" / "cpu.c"]
    others = [compile_object(target.with_name(f"{source.stem}.o"), source, *flags) for source in sources]
    return [compile_object(target, ENGINE / "Engine" / "engine.c", *flags), *others]


def engine_objects(variant):
    """The objects of an engine and the libraries it needs."""
    folder = WORK / variant
    folder.mkdir(exist_ok=True)
    target = folder / "engine.o"
    if variant == "plain":
        command(ROOT / "scripts" / "vendor", "--unpatched", folder)
        return [compile_object(target, DRIVER / "plain.c", PEER_CACHE, "-I", folder)], []
    if variant == "ltc-stock":
        return with_memory(target, PEER_CACHE, "-DSQLCIPHERKIT_STOCK_PROVIDER"), ["-ltomcrypt"]
    if variant == "openssl":
        return with_memory(target, PEER_CACHE, "-DSQLCIPHERKIT_OPENSSL"), ["-lcrypto"]
    if variant == "sqlite3mc":
        # Compiled as its own build files do, with those options of the other engines that matter here.
        hardware = ["-maes", "-msse4.2"] if os.uname().machine == "x86_64" else []
        return [compile_object(target, fetch_mc(), "-DSQLITE_ENABLE_FTS5", "-DSQLITE_THREADSAFE=2", "-DNDEBUG",
                               "-DSQLITE_DEFAULT_MEMSTATUS=0", "-DSQLITE_TEMP_STORE=3", "-DSQLITE_DQS=0",
                               *hardware)], []
    library = "-DSQLCIPHERKIT_LIBTOMCRYPT"
    objects = [compile_object(target, ENGINE / "Engine" / "engine.c", library)]
    for source in sorted([*ENGINE.glob("Provider/*/*.c"), *ENGINE.glob("System/*.c")]):
        objects.append(compile_object(folder / f"{source.stem}.o", source, library))
    return objects, ["-ltomcrypt"]


def driver_of(variant):
    return WORK / f"driver-{'ours' if variant == 'ours-no-avx512' else variant}"


def build(variants):
    """Compiles every engine with its driver, all with the same compiler and -O2."""
    WORK.mkdir(parents=True, exist_ok=True)
    flags = {"plain": ["-DPEER_PLAIN"], "sqlite3mc": ["-DPEER_MC"], "ours": ["-DPEER_KIT"]}

    def one(variant):
        objects, libraries = engine_objects(variant)
        compiler = shutil.which("clang") or shutil.which("cc")
        command(compiler, "-O2", "-std=gnu11", *flags.get(variant, []), DRIVER / "driver.c", *objects, *libraries, "-lm",
                "-lpthread", "-ldl", "-o", driver_of(variant))

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(one, dict.fromkeys("ours" if v == "ours-no-avx512" else v for v in variants)))


# --- Running ----------------------------------------------------------------------------------------------------------


class Runner:
    def __init__(self, folder, rows):
        self.folder = Path(folder)
        self.rows = rows
        self.keys = {}

    def run(self, variant, workload, name):
        path = self.folder / f"{variant}-{name}.db"
        arguments = [driver_of(variant), workload, path, self.keys.get(variant, 0) if name == "large" else 0, self.rows]
        if variant == "ours-no-avx512":
            arguments.append("without-avx512")
        return float(command(*arguments))

    def remove(self, variant, name):
        for ending in ("", "-wal", "-shm", "-journal"):
            (self.folder / f"{variant}-{name}.db{ending}").unlink(missing_ok=True)

    def prepare(self, variant):
        self.run(variant, "prepare-large", "large")
        if variant != "plain":
            self.run(variant, "prepare-small", "small")
        self.run(variant, "fts-build", "text")

    def measure(self, variant, workload):
        """Seconds, or None if the workload does not apply to the variant."""
        if workload == "open-passphrase":
            return None if variant == "plain" else self.run(variant, workload, "small")
        if workload in ("insert", "fts-build"):
            self.remove(variant, "fresh")
            seconds = self.run(variant, workload, "fresh")
            self.remove(variant, "fresh")
            return seconds
        seconds = self.run(variant, workload, "text" if workload == "fts-query" else "large")
        if workload == "rekey":
            self.keys[variant] = 1 - self.keys.get(variant, 0)
        return seconds


def data_folder(rows, variants):
    """A folder in memory if there is room: the comparison is not about the disk."""
    needed = rows * 160 * 4 * len(variants)
    memory = Path("/dev/shm")
    if memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > needed:
        return tempfile.TemporaryDirectory(prefix="sqlcipherkit-bench-", dir=memory)
    say("no room in memory (/dev/shm): the data goes to a disk, and the figures include the disk's speed")
    return tempfile.TemporaryDirectory(prefix="sqlcipherkit-bench-")


def main():
    width = max(map(len, WORKLOADS))
    parser = argparse.ArgumentParser(
        prog="scripts/bench engine", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Compares engines on the same workloads, all engines in turn in each round. Smaller is better.\n"
        "After its first round, a run says how long the others will take; --quick takes about a tenth of the time.",
        epilog="workloads:\n" + "\n".join(f"  {name:{width}}  {meaning}" for name, meaning in WORKLOADS.items()))
    parser.add_argument("--rounds", type=int, default=5, help="rounds of all workloads and variants (default 5)")
    parser.add_argument("--quick", action="store_true", help="a tenth of the data: for an impression, not for a figure")
    parser.add_argument("--json", metavar="FILE", help="write the figures as JSON")
    parser.add_argument("--svg", metavar="FILE", help="write a chart")
    parser.add_argument("--variants", default=",".join(VARIANTS), help="some of: " + ", ".join(VARIANTS))
    parser.add_argument("--workloads", default=",".join(WORKLOADS), help="some of: " + ", ".join(WORKLOADS))
    parser.add_argument("--skip-build", action="store_true", help="use the programs of the last run")
    options = parser.parse_args()
    variants = options.variants.split(",")
    workloads = options.workloads.split(",")
    if options.rounds < 1 or not set(variants) <= set(VARIANTS) or not set(workloads) <= set(WORKLOADS):
        parser.error("unknown variant or workload, or fewer than one round")
    if not (ROOT / "Vendor" / "sqlcipher" / "sqlite3.c").exists():
        raise Stop("the engine's source is missing: run ./scripts/setup first")

    if not options.skip_build:
        say("compiling")
        build(variants)
    rows = QUICK_ROWS if options.quick else FULL_ROWS
    times = {(w, v): [] for w in workloads for v in variants}
    started = time.monotonic()
    with data_folder(rows, variants) as folder:
        runner = Runner(folder, rows)
        say(f"preparing {rows:,} rows for each of {len(variants)} variants")
        for variant in variants:
            runner.prepare(variant)
        rounds_started = time.monotonic()
        for round_number in range(options.rounds):
            for workload in workloads:
                if round_number == 0:
                    say(f"{workload}: {WORKLOADS[workload]}")
                # A different variant goes first in each round, so that none always benefits from its place.
                turn = round_number % len(variants)
                for variant in variants[turn:] + variants[:turn]:
                    seconds = runner.measure(variant, workload)
                    if seconds is not None:
                        times[workload, variant].append(seconds)
            spent = time.monotonic() - rounds_started
            left = spent / (round_number + 1) * (options.rounds - round_number - 1)
            elapsed = time.monotonic() - started
            say(f"round {round_number + 1} of {options.rounds} done after {elapsed:.0f} s, about {left:.0f} s left")

    results = bench_report.summarize("engine", workloads, variants, times)
    print(bench_report.table(results, workloads, variants))
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1) + "\n")
    if options.svg:
        Path(options.svg).write_text(bench_report.chart(
            results, workloads, variants, baseline="plain", title="Engines compared"))


if __name__ == "__main__":
    try:
        main()
    except Stop as stop:
        sys.exit(f"bench: {stop}")
    except KeyboardInterrupt:
        sys.exit(130)
