"""The speed of an application's calls on a disk, in absolute figures, beside GRDB and SQLite in C. Run through scripts/bench."""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import textwrap
from datetime import date
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent))
import bench_swift  # noqa: E402
from bench_build import ROOT, Stop, say  # noqa: E402

ARTICLE = ROOT / "Sources" / "SQLCipherKit" / "Documentation.docc" / "Performance.md"

# The variants: the executables are those of the suite `swift`. SQLite in C has no key here.
VARIANTS = {"c": "SQLite in C", "grdb-system": "GRDB", "grdb": "GRDB, encrypted", "ours": "SQLCipherKit, encrypted"}

# The work of one run, and its number.
WORKLOADS = {
    "disk-insert": ("records inserted in one transaction", 200_000),
    "disk-commit": ("commits of one record, each on the disk", 200),
    "disk-commit-whole": ("commits of one record, the last at the risk of a power cut", 2_000),
    "disk-read": ("records read, opening included", 200_000),
    "disk-lookup": ("records found by their key", 200_000),
    "disk-search": ("searches in 20,000 texts, ten hits with snippets", 200),
}


def rate(workload, seconds, scale):
    """The rate per second, in three digits; for a search the milliseconds as well."""
    count = max(1, WORKLOADS[workload][1] // scale)
    each = median(seconds) / count
    number = float(f"{1 / each:.3g}")
    shown = f"{number:,.0f}" if number >= 100 else f"{number:g}"
    return f"{shown} ({each * 1e3:.2g} ms)" if workload == "disk-search" else shown


def table(times, scale):
    lines = ["| a second | " + " | ".join(VARIANTS.values()) + " |", "|---" * (len(VARIANTS) + 1) + "|"]
    for workload, (what, _) in WORKLOADS.items():
        lines.append(f"| {what} | " + " | ".join(rate(workload, times[workload][variant], scale) for variant in VARIANTS) + " |")
    return "\n".join(lines)


def machine(folder):
    """The machine, as the article names it."""
    cpu = re.search(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text()) if Path("/proc/cpuinfo").exists() else None
    kind = subprocess.run(["stat", "--file-system", "--format=%T", str(folder)], capture_output=True, text=True, check=False)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (f"{cpu[1].strip() if cpu else platform.processor()}, {os.cpu_count()} cores, {memory:.0f} GiB, "
            f"{platform.system()} {platform.release().split('-')[0]}, a file system of the type {kind.stdout.strip() or 'unknown'}")


INTRODUCTION = re.compile(r"\n\nWhat an application's calls get through(?:[^\n]+\n)+")
FIGURES = re.compile(r"Medians of the rounds of `\./scripts/bench disk`(?:[^\n]+\n)+\n(?:\|[^\n]*\n)+")
PICTURE = "![What four libraries get through in a second, on a disk. More is better.](Resources/on-a-disk.svg)"


def article(text, rows, place, load):
    """The article with these figures, in place of those that it has: a paragraph and a table. At first with their picture."""
    said = ("Medians of the rounds of `./scripts/bench disk`, all variants in turn in each, on "
            f"{date.today().isoformat()}: {place}, a load of {load:.1f} before the run.")
    new = textwrap.fill(said, 132, break_long_words=False, break_on_hyphens=False) + "\n\n" + rows + "\n"
    changed, count = FIGURES.subn(lambda _: new, text)
    if count == 0:
        changed, count = INTRODUCTION.subn(lambda found: f"{found[0]}\n{new}\n{PICTURE}\n", text)
    if count != 1:
        raise Stop(f"{ARTICLE.name} has no place for the figures of this suite")
    return changed


def main():
    width = max(map(len, WORKLOADS))
    listed = "\n".join(f"  {name:{width}}  {count:,} {what}" for name, (what, count) in WORKLOADS.items())
    parser = argparse.ArgumentParser(
        prog="scripts/bench disk", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Measures what an application does with a file on a disk, in absolute figures: SQLite in C and GRDB on the\n"
        "system's SQLite, both without encryption; GRDB on this package's engine and SQLCipherKit, both encrypted. All variants\n"
        "take turns in each round. More a second is better. The first run builds the variants in release.",
        epilog=f"workloads, and what each variant is:\n{listed}\n"
        + "\n".join(f"  {name:{width}}  {what}" for name, what in VARIANTS.items()))
    parser.add_argument("--rounds", type=int, default=9, help="rounds of each workload (default 9)")
    parser.add_argument("--quick", action="store_true", help="a twentieth of the rows: for an impression, not for a figure")
    parser.add_argument("--folder", metavar="FOLDER", default=str(ROOT / ".build" / "benchmarks"),
                        help="where the files are made: on the disk that is to be measured (default: .build/benchmarks)")
    parser.add_argument("--json", metavar="FILE", help="write the seconds of each round as JSON")
    parser.add_argument("--article", action="store_true",
                        help="put the figures and this machine into the article Performance, and draw its pictures again")
    parser.add_argument("--list", action="store_true", help="print what each workload does, and build nothing")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("fewer than one round")
    if options.list:
        print(listed)
        return
    if not (ROOT / "Vendor" / "sqlcipher" / "sqlite3.c").exists():
        raise Stop("the engine's source is missing: run ./scripts/setup first")
    executables = bench_swift.build(list(VARIANTS))
    folder, scale, load = Path(options.folder), bench_swift.QUICK_SCALE if options.quick else 1, os.getloadavg()[0]
    folder.mkdir(parents=True, exist_ok=True)
    times = {}
    for workload, (what, _) in WORKLOADS.items():
        say(f"{workload}: {what}")
        with tempfile.TemporaryDirectory(prefix="disk-", dir=folder) as work:
            times[workload] = bench_swift.measure(executables, workload, options.rounds, scale, Path(work))
    rows = table(times, scale)
    print(f"{machine(folder)}, load {load:.1f} before\n{rows}")
    if options.json:
        Path(options.json).write_text(json.dumps(times, indent=1) + "\n")
    if options.article:
        ARTICLE.write_text(article(ARTICLE.read_text(), rows, machine(folder), load))
        subprocess.run([str(ROOT / "scripts" / "workshop" / "pictures")], check=True)


if __name__ == "__main__":
    try:
        main()
    except Stop as stop:
        sys.exit(f"bench: {stop}")
    except KeyboardInterrupt:
        sys.exit(130)
