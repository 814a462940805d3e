"""Measures the command-line tool beside SQLite's own shell: processor time and memory. Run through scripts/bench."""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from bench_build import ROOT, WORK, say

# Each workload: what it is, and the ratio of processor time that it should not exceed.
WORKLOADS = {
    "import": ("a CSV file into a new table", 1.2),
    "json": ("all rows as JSON", 1.1),
    "table": ("all rows as an aligned table", 1.0),
    "csv": ("all rows as CSV", 1.0),
    "dump": ("the database as SQL", 0.85),
    "create": ("a database from that SQL", 1.3),
    "create1": ("a database from SQL with a row in each statement", 1.3),
    "shell": ("a query from a pipe", 1.0),
}


def write_csv(path, rows):
    """About 98 bytes a row, of the kinds that people import."""
    chance = random.Random(7)
    words = ["red", "green", "blue", "amber", "violet", "stone", "river", "cloud", "paper", "glass"]
    with open(path, "w", encoding="utf-8") as file:
        file.write("order,customer,item,price,quantity,day,note\n")
        for number in range(1, rows + 1):
            text = " ".join(chance.choice(words) for _ in range(6))
            note = f'"{text}, {number % 97}"' if number % 5 == 0 else text
            file.write(
                f"{number},customer-{chance.randrange(50_000):05},{chance.choice(words)} {chance.choice(words)},"
                f"{chance.randrange(1, 99999) / 100:.2f},{chance.randrange(1, 20)},"
                f"2026-{number % 12 + 1:02}-{number % 28 + 1:02},{note}\n")


def run(command, stdin=None):
    """Runs a command: its processor time in seconds, and its peak of memory in MB."""
    with open(os.devnull, "wb") as sink:
        process = subprocess.Popen(command, stdin=stdin or subprocess.DEVNULL, stdout=sink, stderr=subprocess.PIPE)
        errors = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"bench: {' '.join(map(str, command))[:200]}: {errors.decode(errors='replace')[:500]}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def commands(folder, tool, peer):
    """The two commands of each workload, ours first, and what to remove before each."""
    csv, ours, theirs = folder / "rows.csv", folder / "ours.db", folder / "theirs.db"
    new, dump, dump1 = folder / "new.db", folder / "dump.sql", folder / "dump1.sql"
    sql = 'SELECT * FROM "rows"'
    query = [tool, "query", ours, sql, "--no-key", "--format"]
    shell = ["bash", "-c", '"$0" "$@" < "$SCRIPT"']
    os.environ["SCRIPT"] = str(folder / "script.sql")
    (folder / "script.sql").write_text(sql + ";\n")
    return {
        "import": ([tool, "import", new, csv, "--no-key"], [peer, new, ".mode csv", f".import {csv} rows"]),
        "json": (query + ["json"], [peer, "-json", theirs, sql]),
        "table": (query + ["table"], [peer, "-column", "-header", theirs, sql]),
        "csv": (query + ["csv"], [peer, "-csv", "-header", theirs, sql]),
        "dump": ([tool, "dump", ours, "--no-key"], [peer, theirs, ".dump"]),
        "create": ([tool, "create", new, "--script", dump, "--no-key"], ["bash", "-c", f'"{peer}" "{new}" < "{dump}"']),
        "create1": ([tool, "create", new, "--script", dump1, "--no-key"], ["bash", "-c", f'"{peer}" "{new}" < "{dump1}"']),
        "shell": (shell + [tool, "shell", ours, "--no-key", "--format", "csv"], shell + [peer, "-csv", "-header", theirs]),
    }


def main():
    parser = argparse.ArgumentParser(
        prog="scripts/bench tool", description=__doc__.split(". Run")[0],
        epilog="\n".join(f"  {name:8} {what}" for name, (what, _) in WORKLOADS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", help="which workloads (default: all)")
    parser.add_argument("--rows", type=int, default=1_000_000, help="the rows of the table (default: a million)")
    parser.add_argument("--rounds", type=int, default=3, help="how often each pair of commands runs (default: 3)")
    parser.add_argument("--peer", default="sqlite3", help="SQLite's shell (default: the one on the path)")
    parser.add_argument("--json", action="store_true", help="write the figures as JSON")
    options = parser.parse_args()
    wanted = options.workloads or list(WORKLOADS)
    for name in wanted:
        if name not in WORKLOADS:
            parser.error(f"there is no workload {name}")
    peer = shutil.which(options.peer) or parser.error(f"there is no {options.peer}")
    say("building the tool, optimized")
    environment = dict(os.environ, SQLCIPHERKIT_DEVELOPMENT="1", SQLCIPHERKIT_TESTS="CLITests")
    subprocess.run(
        ["swift", "build", "-c", "release", "--product", "sqlcipherkit"], cwd=ROOT, env=environment, check=True, stdout=sys.stderr)
    tool = ROOT / ".build" / "release" / "sqlcipherkit"
    WORK.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=WORK) as name:
        folder = Path(name)
        write_csv(folder / "rows.csv", options.rows)
        say(f"{options.rows:,} rows, {(folder / 'rows.csv').stat().st_size / 1e6:.0f} MB of CSV")
        run([tool, "import", folder / "ours.db", folder / "rows.csv", "--no-key"])
        run([peer, folder / "theirs.db", ".mode csv", f".import {folder / 'rows.csv'} rows"])
        with open(folder / "dump.sql", "wb") as file:
            subprocess.run([tool, "dump", folder / "ours.db", "--no-key"], stdout=file, check=True)
        with open(folder / "dump1.sql", "wb") as file:
            subprocess.run([peer, folder / "theirs.db", ".dump"], stdout=file, check=True)
        pairs, figures = commands(folder, tool, peer), {}
        for name in wanted:
            times = ([], [])
            memory = [0, 0]
            for _ in range(options.rounds):
                for side in (0, 1):
                    for path in folder.glob("new.db*"):
                        path.unlink()
                    spent, peak = run(pairs[name][side])
                    times[side].append(spent)
                    memory[side] = max(memory[side], peak)
            ours, theirs = median(times[0]), median(times[1])
            figures[name] = {
                "ours": ours, "sqlite3": theirs, "ratio": ours / theirs, "wanted": WORKLOADS[name][1],
                "ours_mb": memory[0], "sqlite3_mb": memory[1]}
            say(f"{name}: {ours:.2f} s, {theirs:.2f} s, {ours / theirs:.2f}")
    if options.json:
        print(json.dumps(figures))
        return
    print(f"{'workload':10} {'ours':>8} {'sqlite3':>8} {'ratio':>6} {'wanted':>7} {'ours':>8} {'sqlite3':>8}")
    for name, figure in figures.items():
        print(
            f"{name:10} {figure['ours']:6.2f} s {figure['sqlite3']:6.2f} s {figure['ratio']:6.2f} {figure['wanted']:7.2f} "
            f"{figure['ours_mb']:5.0f} MB {figure['sqlite3_mb']:5.0f} MB")


if __name__ == "__main__":
    main()
