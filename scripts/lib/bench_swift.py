"""Builds the Swift layers that are compared, runs their workloads in turn, and shows the figures. Run through scripts/bench."""

import argparse
import contextlib
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent))
import bench_report  # noqa: E402
import grdb  # noqa: E402
from bench_build import ROOT, WORK, Stop, built, command, say  # noqa: E402


VARIANTS = ["c", "ours", "grdb", "grdb-system"]
# The package graph and the executable of each variant; Tests/Benchmarks/Package.swift says why there are two graphs.
PRODUCTS = {"c": ("engine", "BenchC"), "ours": ("engine", "BenchOurs"), "grdb": ("engine", "BenchGRDB"),
            "grdb-system": ("system", "BenchGRDB")}
QUICK_SCALE = 20

# The work of one run of a workload, at full size. The time is for the whole run; all variants have the same rows in their tables.
WORKLOADS = {
    "fetch-ints-index": "read 200,000 rows of ten integers, by the columns' positions",
    "fetch-ints-name": "the same by the columns' names",
    "fetch-ints-struct": "the same into structures, by handwritten code",
    "fetch-ints-codable": "the same into structures, by Codable",
    "fetch-mixed": "read 200,000 rows of an integer, a real, a text and bytes into structures",
    "fetch-mixed-data": "the same with the bytes as Foundation's Data",
    "fetch-mixed-codable": "the same by Codable",
    "insert-ints": "insert 50,000 rows of ten integers in one transaction, with one statement",
    "insert-mixed": "insert 200,000 mixed rows in one transaction",
    "insert-mixed-data": "the same with the bytes as Foundation's Data",
    "insert-codable-ints": "insert 50,000 records of ten integers",
    "insert-codable-mixed": "insert 200,000 mixed records",
    "fetch-plain-ints": "read 200,000 rows of ten integers as plain records (struct …: SQLRecord), by a query",
    "fetch-plain-mixed": "the same of mixed rows",
    "fetch-plain-sql": "read 200,000 rows of ten integers as plain records, by SQL",
    "insert-plain-ints": "insert 50,000 plain records of ten integers",
    "insert-plain-mixed": "insert 200,000 mixed plain records",
    "lookup-plain-id": "find 200,000 plain records by their primary key",
    "lookup-plain-query": "the same by a query with a condition on the key",
    "including-latest": "read 500 records, each with the latest one of its 400, by an association and an index",
    "including-latest-3": "the same with the latest three of each",
    "including-latest-20": "the same with the latest twenty of each",
    "fetch-ints-record": "read 200,000 rows of ten integers as positional records, by a query",
    "fetch-mixed-record": "the same of mixed rows",
    "insert-record-ints": "insert 50,000 positional records of ten integers",
    "insert-record-mixed": "insert 200,000 mixed positional records",
    "lookup-record-id": "find 200,000 positional records by their primary key",
    "lookup-record-query": "the same by a query with a condition on the key",
    "update-record": "change one column of 200,000 positional records, as they were before in hand",
    "insert-plain-returning": "insert 200,000 mixed plain records, each by insert(&), which reads it back",
    "insert-plain-all": "insert 200,000 mixed plain records by insertAll",
    "upsert-plain-returning": "overwrite 200,000 mixed plain records, each by upsert(&), which reads it back",
    "insert-record-returning": "insert 200,000 mixed positional records, each by insert(&), which reads it back",
    "insert-record-all": "insert 200,000 mixed positional records by insertAll",
    "upsert-record-returning": "overwrite 200,000 mixed positional records, each by upsert(&), which reads it back",
    "write-unobserved": "20,000 transactions of one row each, in a queue",
    "write-observed": "the same beside 100 observers of another table",
    "lookup-pk": "find 200,000 rows by their primary key, with one prepared statement",
    "lookup-pk-text": "the same, with SQL interpolated in each call",
    "lookup-pk-arguments": "the same, with the SQL and its arguments given in each call",
    "lookup-sql-text": "the same through the connection's cache of statements",
    "read-one": "20,000 calls of a queue, each of which reads one row",
    "read-one-pool": "10,000 calls of a pool, each of which reads one row",
    "async-read-main": "10,000 awaited reads of one row each, from the main actor",
    "async-read": "10,000 awaited reads of one row each, from one task",
    "async-read-busy": "the same from eight tasks",
    "pool-2-readers-writer": "two readers count 20,000 rows ten times each while a writer inserts",
    "pool-open-second": "open a second pool on a file that is already open",
    "open-slots": "open a database through its key slots",
    "fts-search": "200 ranked searches with snippets in 20,000 texts",
    "json-extract": "extract one member of each of 100,000 JSON documents",
    "json-codable": "decode 100,000 JSON documents into structures, by Codable",
    "keyed-fetch-mixed": "fetch-mixed from an encrypted file",
    "keyed-insert-mixed": "insert 50,000 mixed rows into an encrypted file",
}


# --- Building ---------------------------------------------------------------------------------------------------------


def fetch_grdb(graph):
    """Clones GRDB at its tag into a graph's build folder. For this engine, also swaps lines of its manifest."""
    folder = WORK / graph / "GRDB.swift"
    stamp = WORK / graph / "GRDB.stamp"
    # The stamp is written last. A copy that was made for other swaps is made again.
    wanted = f"{grdb.VERSION} {hashlib.sha256(Path(grdb.__file__).read_bytes()).hexdigest() if graph == 'engine' else ''}"
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    say(f"fetching GRDB {grdb.VERSION} ({graph})")
    try:
        if graph == "engine":
            grdb.on_engine(folder, grdb.by_path("../../../.."))
        else:
            grdb.clone(folder)
    except grdb.Unexpected as problem:
        raise Stop(str(problem)) from problem
    stamp.write_text(wanted)


def build(variants):
    """Builds what the variants need, in release. Returns the path of each variant's executable."""
    executables = {}
    for graph in dict.fromkeys(PRODUCTS[variant][0] for variant in variants):
        fetch_grdb(graph)
        folder = built(graph, f", GRDB on {'this engine' if graph == 'engine' else 'the SQLite of the system'}")
        for variant in variants:
            if PRODUCTS[variant][0] == graph:
                executables[variant] = str(folder / PRODUCTS[variant][1])
    return executables


# --- Running ----------------------------------------------------------------------------------------------------------


class Runner:
    """A process that has prepared one workload, and runs it once for each line that it is sent.

    Without arguments, an executable prints the names of its workloads. With a workload, an empty folder and a divisor of the
    number of rows, it prepares the workload and prints `ready`. It answers each empty line with a line that has the nanoseconds
    and the check number."""

    def __init__(self, executable, workload, folder, scale):
        folder.mkdir()
        self.name = f"{Path(executable).name} {workload}"
        self.process = subprocess.Popen(
            [executable, workload, str(folder), str(scale)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.answer() != "ready":
            raise Stop(f"{self.name} did not become ready")

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise Stop(f"{self.name} ended early")
        return line.strip()

    def once(self):
        """Seconds, and the check number."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        nanoseconds, number = self.answer().split()
        return int(nanoseconds) / 1e9, number

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def data_folder():
    """A folder in memory if there is one: the comparison is not about the disk."""
    memory = Path("/dev/shm")
    folder = memory if memory.is_dir() and os.access(memory, os.W_OK) else None
    return tempfile.TemporaryDirectory(prefix="sqlcipherkit-bench-", dir=folder)


def measure(executables, workload, rounds, scale, place=None):
    """The seconds of each round: {variant: [seconds, …]}. The files are in memory, or in an empty folder."""
    with contextlib.nullcontext(place) if place else data_folder() as folder:
        runners = {}
        try:
            for variant, executable in executables.items():
                runners[variant] = Runner(executable, workload, Path(folder) / variant, scale)
            # A round that does not count: it fills caches and learns column names. All variants must have done the same work.
            numbers = {variant: runner.once()[1] for variant, runner in runners.items()}
            if len(set(numbers.values())) != 1:
                raise Stop(f"{workload}: the variants come to different results: {numbers}")
            times = {variant: [] for variant in runners}
            order = list(runners)
            for number in range(rounds):
                # A different variant goes first in each round, so that none always benefits from its place.
                turn = number % len(order)
                for variant in order[turn:] + order[:turn]:
                    times[variant].append(runners[variant].once()[0])
            return times
        finally:
            for runner in runners.values():
                runner.close()


def table(workloads, variants, times):
    """The median of each variant, and the ratio of ours to each other variant: the median of the rounds' ratios, and in
    parentheses the ratio of the best rounds, as noise can only slow a run down."""
    others = [variant for variant in variants if variant != "ours"] if "ours" in variants else []
    rows = [["workload", *variants, *(f"ours / {other}" for other in others)]]
    for workload in workloads:
        row = [workload]
        for variant in variants:
            own = times[workload, variant]
            row.append(bench_report.shown_seconds(median(own)) if own else "–")
        ours = times.get((workload, "ours"), [])
        for other in others:
            theirs = times[workload, other]
            shown = ours and theirs
            row.append(f"{median(a / b for a, b in zip(ours, theirs)):.2f} ({min(ours) / min(theirs):.2f})" if shown else "–")
        rows.append(row)
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def arguments():
    width = max(map(len, WORKLOADS))
    parser = argparse.ArgumentParser(
        prog="scripts/bench swift", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Compares the Swift layer with C and with GRDB, all variants of a workload in turn in each round.\n"
        "Smaller is better. "
        "The first run also builds the variants in release, which takes longer than measuring. From its second workload on,\n"
        "a run says how much time is left; --quick uses a twentieth of the rows.",
        epilog="workloads:\n" + "\n".join(f"  {name:{width}}  {text}" for name, text in WORKLOADS.items()),
    )
    parser.add_argument("--rounds", type=int, default=9, help="rounds of each workload, all variants in turn (default 9)")
    parser.add_argument("--quick", action="store_true", help="a twentieth of the rows: for an impression, not for a figure")
    parser.add_argument("--json", metavar="FILE", help="write the figures as JSON")
    parser.add_argument("--svg", metavar="FILE", help="write a chart")
    parser.add_argument("--only", metavar="WORKLOAD,…", help="only these workloads")
    parser.add_argument("--variants", default=",".join(VARIANTS), help="some of: " + ", ".join(VARIANTS))
    parser.add_argument("--list", action="store_true", help="print what each workload does, and build nothing")
    options = parser.parse_args()
    options.variants = options.variants.split(",")
    if options.rounds < 1 or not set(options.variants) <= set(VARIANTS):
        parser.error("unknown variant, or fewer than one round")
    return options


def main():
    options = arguments()
    if options.list:
        width = max(map(len, WORKLOADS))
        print("\n".join(f"{name:{width}}  {text}" for name, text in WORKLOADS.items()))
        return
    if not (ROOT / "Vendor" / "sqlcipher" / "sqlite3.c").exists():
        raise Stop("the engine's source is missing: run ./scripts/setup first")
    executables = build(options.variants)
    offers = {variant: command([executable]).split() for variant, executable in executables.items()}
    # Workloads on a disk are a suite of their own.
    workloads = list(dict.fromkeys(name for names in offers.values() for name in names if not name.startswith("disk-")))
    unexplained = [name for name in workloads if name not in WORKLOADS]
    if unexplained:
        raise Stop(f"scripts/lib/bench_swift.py does not say what these do: {', '.join(unexplained)}")
    if options.only:
        unknown = set(options.only.split(",")) - set(workloads)
        if unknown:
            raise Stop(f"no workload {', '.join(sorted(unknown))}; there are: {', '.join(workloads)}")
        workloads = options.only.split(",")
    times = {(workload, variant): [] for workload in workloads for variant in options.variants}
    started = time.monotonic()
    for number, workload in enumerate(workloads):
        spent = time.monotonic() - started
        left = f", about {spent / number * (len(workloads) - number):.0f} s left" if number else ""
        say(f"{workload}, {number + 1} of {len(workloads)}{left}: {WORKLOADS[workload]}")
        offering = {variant: path for variant, path in executables.items() if workload in offers[variant]}
        measured = measure(offering, workload, options.rounds, QUICK_SCALE if options.quick else 1)
        times.update({(workload, variant): seconds for variant, seconds in measured.items()})
    print(table(workloads, options.variants, times))
    results = bench_report.summarize("swift", workloads, options.variants, times)
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1) + "\n")
    if options.svg:
        Path(options.svg).write_text(bench_report.chart(
            results, workloads, options.variants, baseline="c", title="The Swift layer compared"))


if __name__ == "__main__":
    try:
        main()
    except Stop as stop:
        sys.exit(f"bench: {stop}")
    except KeyboardInterrupt:
        sys.exit(130)
