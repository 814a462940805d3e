"""Builds the program that replicates, runs its workloads with each store in turn, and shows the figures. Run through
scripts/bench."""

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path
from statistics import median

import moto_server
from bench_build import ROOT, Stop, built, command, say

MEMORY = Path("/dev/shm")

STORES = {
    "none": "no replica",
    "folder": "a folder on the same disk",
    "memory": "a folder in memory, where there is /dev/shm, as a store elsewhere does not use the database's disk",
    "s3": "an object store on the loopback: moto's server, which is slow, with the package's HTTP client",
}
WORKLOADS = {
    "commits": "20,000 commits of one row of 200 bytes after as many others, without and with a replica, and the bytes stored",
    "stored": "500 commits that wait until they are stored, and 100 that do not, with the default interval of half a second",
    "restore": "restore 680 MB three times, beside copying and flushing the file",
    "follow": "a follower that is 200 MB behind",
    "price": "the requests of steady use, in ten minutes: two commits a second, the same with an interval of five seconds, "
             "one a minute, 10 GB of changes a day, and none; one round",
    "grow": "a database of 10 MB to 10 GB: its first snapshot, and commits that wait until they are stored; one round, 25 GB",
}
USES = {
    "trickle": "two commits a second", "slow": "the same with an interval of five seconds", "notes": "a commit a minute",
    "bulk": "10 GB a day", "quiet": "no commit",
}
SIZES = {10: "10 MB", 100: "100 MB", 1000: "1 GB", 10_000: "10 GB"}
# Each figure: its name, as on the article's rows, and its form.
FIGURES = {
    "commits_per_second": ("commits of one row a second", "{:,.0f}"),
    "bytes_per_page_byte": ("bytes stored per byte of changed pages", "{:.2f}"),
    "waiting_p50": ("the wait of a commit until it is stored, median", "{:.1f} ms"),
    "waiting_p99": ("the same, 99th percentile", "{:.1f} ms"),
    "passing_p50": ("the delay until a commit is stored, without a wait, median", "{:.0f} ms"),
    "passing_p99": ("the same, 99th percentile", "{:.0f} ms"),
    "restore_mb_per_second": ("restoring, in MB/s", "{:,.0f}"),
    "copy_mb_per_second": ("copying and flushing the file, in MB/s", "{:,.0f}"),
    "restore_per_copy": ("restoring, as a fraction of the speed of copying and flushing", "{:.2f}"),
    "follow_mb_per_second": ("a follower that is 200 MB behind, in MB/s", "{:,.0f}"),
    **{f"{figure}_{use}": (f"{use_title}: {title}", form) for use, use_title in USES.items() for figure, title, form in [
        ("stores", "writing requests in an hour", "{:,.0f}"), ("reads", "reading requests in an hour", "{:,.0f}"),
        ("log", "MB of log in an hour", "{:,.1f}"), ("uploaded", "bytes stored per byte of log", "{:.2f}")]},
    **{f"snapshot_{size}": (f"the first snapshot of {name}, in MB/s", "{:,.0f}") for size, name in SIZES.items()},
    **{f"grown_waiting_{size}": (f"the wait of a commit in {name} until it is stored, median", "{:.1f} ms")
       for size, name in SIZES.items()},
}
# A month's use, with its hours; and Amazon's list prices, in dollars for 1,000 requests and for a gigabyte a month.
DAYS, KEPT_DAYS, PRICE_OF_REQUESTS, PRICE_OF_STORAGE = 365 / 12, 8, 0.005, 0.023
MONTHS = {
    "notes": ("notes: a commit a minute, eight hours a day", DAYS * 8),
    "trickle": ("a server: two commits a second, day and night", DAYS * 24),
    "slow": ("the same with an interval of five seconds", DAYS * 24),
    "bulk": ("{:.0f} GB of changes a day, day and night", DAYS * 24),
}
SHORT_SCALE = 50


def measure(executable, workload, stores, rounds, scale, parent):
    """The figures of each round: {(store, figure): [value, …]}. The stores take turns."""
    figures = {}
    left_out = {"commits": set(), "grow": {"none", "memory"}, "price": {"none", "memory"}}.get(workload, {"none"})
    order = [store for store in stores if store not in left_out]
    for number in range(rounds):
        turn = number % len(order) if order else 0
        for store in order[turn:] + order[:turn]:
            with tempfile.TemporaryDirectory(prefix="sqlcipherkit-bench-", dir=parent) as folder, \
                    tempfile.TemporaryDirectory(prefix="sqlcipherkit-bench-", dir=MEMORY if store == "memory" else folder) as other:
                place = other if store == "memory" else stores[store]
                output = command([executable, workload, place, folder, str(scale)])
            for name, value in json.loads(output).items():
                figures.setdefault((store, name), []).append(value)
    return figures


def rows(figures, stores):
    """A row for each figure, and for commits the ratio to those without a replica: the median of the rounds' ratios."""
    result = [["", *stores]]
    for name, (title, form) in FIGURES.items():
        row = [title]
        for store in stores:
            values = figures.get((store, name))
            factor = 1000 if "waiting" in name or "passing" in name else 1
            cell = form.format(median(values) * factor) if values else "–"
            plain = figures.get(("none", name))
            if values and plain and store != "none":
                cell += f" ({median(a / b for a, b in zip(values, plain)):.2f})"
            row.append(cell)
        if any(cell != "–" for cell in row[1:]):
            result.append(row)
    return result


def text_table(table):
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in table)


def markdown(table):
    lines = ["|" + "".join(f" {cell} |" if cell else " |" for cell in row) for row in table]
    return "\n".join([lines[0], "|---" * len(table[0]) + "|", *lines[1:]]) + "\n"


def article(figures):
    """The tables of the article on replication, under the names of their sections, from what was measured of them."""
    def find(store, figure):
        return median(figures[store, figure]) if (store, figure) in figures else None

    def show(form, *values):
        return "" if None in values else form.format(*values)

    places = {"folder": "folder", "server": "s3", "memory": "memory"}
    figures, plain, tables = dict(figures), find("none", "commits_per_second"), {}

    def across(title, form, *names, factor=1):
        cells = []
        for store in places.values():
            values = [find(store, name) for name in names]
            cells.append("" if None in values else form.format(*(value * factor for value in values)))
        return [title, *cells]

    # In turn with those without a replica in each round.
    for store in places.values():
        pairs = zip(figures.get((store, "commits_per_second"), []), figures.get(("none", "commits_per_second"), []))
        ratios = [commits / alone for commits, alone in pairs]
        if ratios:
            figures[store, "commits_part"] = ratios
    measured = [
        across(f"commits of one row a second (as a fraction of {plain or 0:,.0f} without a replica)", "{:,.0f} ({:.2f})",
               "commits_per_second", "commits_part"),
        across("bytes stored per byte of changed pages", "{:.2f}", "bytes_per_page_byte"),
        across("the wait of a commit until it is stored: median, 99th percentile", "{:.1f}, {:.1f} ms", "waiting_p50",
               "waiting_p99", factor=1000),
        across("the delay until a commit is stored, without a wait: median, 99th percentile", "{:,.0f}, {:,.0f} ms", "passing_p50",
               "passing_p99", factor=1000),
        across("restoring 680 MB, in MB/s (as a fraction of the speed of copying and flushing the file)", "{:,.0f} ({:.2f})",
               "restore_mb_per_second", "restore_per_copy"),
        across("a follower that is 200 MB behind, in MB/s", "{:,.0f}", "follow_mb_per_second"),
    ]
    tables["Measured"] = [["", *places], *(row for row in measured if any(row[1:]))]
    grown = [
        ["the first snapshot into a folder, in MB/s", *(show("{:,.0f}", find("folder", f"snapshot_{size}")) for size in SIZES)],
        ["the wait of a commit until it is stored",
         *(show("{:.1f} ms", (find("folder", f"grown_waiting_{size}") or 0) * 1000 or None) for size in SIZES)],
    ]
    tables["Measured, sizes"] = [["database", *SIZES.values()], *(row for row in grown if any(row[1:]))]
    # As on the server, if it was measured: the requests are the same into a folder.
    store = "s3" if ("s3", "stores_trickle") in figures else "folder"
    counts, prices = [], []
    for use, title in USES.items():
        stores, reads, log, factor = (find(store, f"{figure}_{use}") for figure in ("stores", "reads", "log", "uploaded"))
        if stores is None:
            continue
        title = f"{log:,.0f} MB of changes, in four commits a second" if use == "bulk" else title
        counts.append([title, f"{stores:,.0f}", f"{reads:,.0f}", f"{log:,.1f}" if 0 < log < 100 else f"{log:,.0f}",
                       f"{factor:.2f}" if log > 0.01 else ""])
    for use, (name, hours) in MONTHS.items():
        stores, log = find(store, f"stores_{use}"), find(store, f"log_{use}")
        if stores is None:
            continue
        requests, stored = stores * hours, log * hours / DAYS * KEPT_DAYS * 2 / 1000
        dollars = requests / 1000 * PRICE_OF_REQUESTS + stored * PRICE_OF_STORAGE
        prices.append([name.format(log * 24 / 1000), f"{round(requests, -3 if requests < 1e5 else -4):,.0f}",
                       f"{stored:.1f} GB" if stored < 10 else f"{stored:,.0f} GB", f"{dollars:.2f}"])
    tables["What it costs"] = [
        ["use, in an hour", "writing requests", "reading requests", "MB of log", "bytes stored per byte of log"], *counts]
    tables["What it costs, a month"] = [["use", "requests a month", "stored", "dollars a month"], *prices]
    return "\n".join(f"### {name}\n\n{markdown(table)}" for name, table in tables.items() if len(table) > 1)


def listing():
    width = max(map(len, [*WORKLOADS, *STORES]))
    return "\n".join(
        ["workloads:", *(f"  {name:{width}}  {text}" for name, text in WORKLOADS.items()), "stores:",
         *(f"  {name:{width}}  {text}" for name, text in STORES.items())])


def arguments():
    parser = argparse.ArgumentParser(
        prog="scripts/bench replica", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Measures replication with each store in turn in each round, and shows medians. The ratio in parentheses is\n"
        "to the same without a replica. The first run also builds in release.",
        epilog=listing())
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each workload, all stores in turn (default 5)")
    parser.add_argument("--short", action="store_true", help="one round of a fiftieth of the size, as a check")
    parser.add_argument("--s3", action="store_true", help="also an object store; fetches moto and an HTTP client")
    parser.add_argument("--only", metavar="WORKLOAD,…", help="only these workloads")
    parser.add_argument("--folder", metavar="FOLDER", help="where the data is (default: the system's temporary folder)")
    parser.add_argument("--json", metavar="FILE", help="write all figures of all rounds as JSON")
    parser.add_argument("--markdown", metavar="FILE",
                        help="write the tables as the article on replication has them, with those of what it costs")
    parser.add_argument("--list", action="store_true", help="print what there is, and build nothing")
    options = parser.parse_args()
    options.only = options.only.split(",") if options.only else list(WORKLOADS)
    if options.rounds < 1 or not set(options.only) <= set(WORKLOADS):
        parser.error("unknown workload, or fewer than one round")
    return options


def main():
    options = arguments()
    if options.list:
        print(listing())
        return
    if not (ROOT / "Vendor" / "sqlcipher" / "sqlite3.c").exists():
        raise Stop("the engine's source is missing: run ./scripts/setup first")
    if shutil.which("swift") is None:
        raise Stop("there is no swift")
    server = moto_server.Server() if options.s3 else None
    try:
        executable = str(built("replica-s3" if options.s3 else "replica") / "BenchReplica")
        unexplained = set(command([executable]).split()) ^ set(WORKLOADS)
        if unexplained:
            raise Stop(f"scripts/lib/bench_replica.py and the program differ: {', '.join(sorted(unexplained))}")
        stores = {"none": "none", "folder": "folder", **({"s3": server.url} if server else {})}
        if MEMORY.is_dir():
            stores["memory"] = str(MEMORY)
        figures = {}
        for workload in options.only:
            say(f"{workload}: {WORKLOADS[workload]}")
            scale = SHORT_SCALE if options.short else 1
            rounds = 1 if options.short or workload in ("grow", "price") else options.rounds
            figures.update(measure(executable, workload, stores, rounds, scale, options.folder))
    finally:
        if server:
            server.close()
    table = rows(figures, list(stores))
    print(text_table(table))
    if options.json:
        found = [{"store": store, "figure": name, "rounds": values} for (store, name), values in figures.items()]
        Path(options.json).write_text(json.dumps(found, indent=1) + "\n")
    if options.markdown:
        Path(options.markdown).write_text(article(figures))


if __name__ == "__main__":
    try:
        main()
    except (Stop, moto_server.Unavailable) as stop:
        sys.exit(f"bench: {stop}")
    except KeyboardInterrupt:
        sys.exit(130)
