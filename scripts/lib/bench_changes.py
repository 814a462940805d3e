"""Builds the program that writes through a change log and without one, runs it, and shows the figures. Run through
scripts/bench."""

import argparse
import json
import re
import sys
import tempfile
import textwrap
from datetime import date
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent))
import bench_swift  # noqa: E402
from bench_build import ROOT, WORK, Stop, built, command  # noqa: E402

ARTICLE = ROOT / "Sources" / "SQLCipherKitSync" / "Documentation.docc" / "ChangeLogDesign.md"
KINDS = {"large": "270 bytes", "small": "20 bytes"}
STEPS = {
    "insert": ("20,000 rows inserted in one transaction", " × processor time"),
    "update": ("20,000 rows updated in one transaction, by one statement each", " ×"),
    "update-all": ("20,000 rows updated by one statement", " ×"),
    "delete": ("10,000 rows deleted by one statement", " ×"),
    "commit": ("commits of one updated row each", " ×"),
    "size": ("the file after the inserts", " × size"),
    "pruned": ("the file after pruning and `Schema.vacuum()`", " ×"),
}
FIGURES = re.compile(r"\| changes \|[^\n]*\n(?:\|[^\n]*\n)+\n(?:[^\n]+\n)+")
ROWS = 20_000


def measure(executable, rounds, scale):
    """The medians: {figure: [with a log, without one]}."""
    WORK.mkdir(parents=True, exist_ok=True)
    found = []
    for _ in range(rounds):
        with bench_swift.data_folder() as memory, tempfile.TemporaryDirectory(prefix="changes-", dir=WORK) as disk:
            found.append(json.loads(command([executable, memory, disk, str(scale)])))
    return {name: [median(one[name][place] for one in found) for place in (0, 1)] for name in found[0]}


def ratio(pair):
    return f"{pair[0] / pair[1]:.2g}" if pair[0] < 10 * pair[1] else f"{pair[0] / pair[1]:.0f}"


def table(figures):
    lines = ["| changes | " + " | ".join(KINDS.values()) + " |", "|---" * (len(KINDS) + 1) + "|"]
    for step, (what, unit) in STEPS.items():
        first, *others = (ratio(figures[f"{kind} {step}"]) for kind in KINDS)
        lines.append(f"| {what} | {first}{unit} | " + " | ".join(f"{other} ×" for other in others) + " |")
    lines.append(f"| commits of one row each on a disk, by the clock | {ratio(figures['disk commit'])} × | |")
    return "\n".join(lines) + "\n\n" + textwrap.fill(sentence(figures), 132, break_long_words=False) + "\n"


def sentence(figures):
    def more(kind, step, count=1):
        return (figures[f"{kind} {step}"][0] - figures[f"{kind} {step}"][1]) / count * 1e6

    plain = [figures[f"{kind} insert"][1] / ROWS * 1e6 for kind in KINDS]
    return (f"Measured on {date.today().isoformat()}. A plain insert takes {plain[0]:.2g} microseconds for a row of 270 bytes, and "
            f"{plain[1]:.2g} for a row of 20 bytes. The log adds {more('large', 'insert', ROWS):.2g} and "
            f"{more('small', 'insert', ROWS):.2g} microseconds. To a commit of one row, it adds "
            f"{more('large', 'commit') / 1000:.2g} ms of processor time.")


def article(text, rows):
    """The article with this table and its sentence in place of those that it has."""
    changed, count = FIGURES.subn(lambda _: rows, text)
    if count != 1:
        raise Stop(f"{ARTICLE.name} has no place for the figures of this suite")
    return changed


def main():
    parser = argparse.ArgumentParser(
        prog="scripts/bench changes", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Measures what a change log costs: the same changes with a log and without one after each other, in an\n"
        "encrypted file in memory, as multiples of processor time and of size. The first run builds the program in release.",
        epilog="steps:\n" + "\n".join(f"  {name:10}  {what}" for name, (what, _) in STEPS.items()))
    parser.add_argument("--rounds", type=int, default=5, help="rounds (default 5)")
    parser.add_argument("--quick", action="store_true", help="a twentieth of the rows: for an impression, not for a figure")
    parser.add_argument("--json", metavar="FILE", help="write the medians as JSON: seconds and pages, with a log and without one")
    parser.add_argument("--article", action="store_true", help="put the figures into the article ChangeLogDesign")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("fewer than one round")
    figures = measure(str(built("changes") / "BenchChanges"), options.rounds, bench_swift.QUICK_SCALE if options.quick else 1)
    rows = table(figures)
    print(rows, end="")
    if options.json:
        Path(options.json).write_text(json.dumps(figures, indent=1) + "\n")
    if options.article:
        ARTICLE.write_text(article(ARTICLE.read_text(), rows))


if __name__ == "__main__":
    try:
        main()
    except Stop as stop:
        sys.exit(f"bench: {stop}")
    except KeyboardInterrupt:
        sys.exit(130)
