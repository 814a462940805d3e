"""Makes judged queries in ten languages, searches for them with and without the language's rules, and shows what is found. Run
through scripts/bench."""

import argparse
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent))
from bench_build import ROOT, Stop, built, command, say  # noqa: E402
from bench_build import WORK as ALL_WORK  # noqa: E402
from bench_search import Searcher  # noqa: E402
from judged_languages import LANGUAGES  # noqa: E402

WORK = ALL_WORK / "languages"
REQUIREMENTS = ROOT / "scripts" / "lib" / "languages-requirements.txt"
SEED = 20_261_129


def packages():
    """The folder with Debian's packages, each unpacked into a folder of its name."""
    folder = WORK / "packages"
    folder.mkdir(parents=True, exist_ok=True)
    for _, names, dictionary in LANGUAGES.values():
        for name in names + ([dictionary.split("/")[0]] if dictionary else []):
            if (folder / name).is_dir():
                continue
            say(f"fetching {name}")
            with tempfile.TemporaryDirectory() as scratch:
                command(["apt-get", "-o", "APT::Sandbox::User=root", "download", "--quiet", name], cwd=scratch)
                command(["dpkg-deb", "-x", str(next(Path(scratch).glob("*.deb"))), str(folder / f"{name}.part")])
            (folder / f"{name}.part").rename(folder / name)
    return folder


def interpreter():
    """Python with the dictionaries."""
    folder = WORK / "venv"
    stamp = folder / "requirements"
    if not stamp.is_file() or stamp.read_text() != REQUIREMENTS.read_text():
        say("fetching dictionaries")
        shutil.rmtree(folder, ignore_errors=True)
        command([sys.executable, "-m", "venv", str(folder)])
        command([str(folder / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:",
                 "--no-deps", "--require-hashes", "-r", str(REQUIREMENTS)])
        stamp.write_text(REQUIREMENTS.read_text())
    return str(folder / "bin" / "python")


def keystrokes(judged):
    """The texts typed letter by letter, from the second letter on, of every tenth query."""
    queries = [each["query"] for kind in judged.values() for each in kind][::10]
    return [query[:end] for query in queries for end in range(2, len(query) + 1)]


def measure(language, executables, folder, scratch):
    """Rows of a table: the class, the share of queries with a right row first and among the first five, with and without."""
    judged = json.loads((folder / "judged.json").read_text())
    own = scratch / language
    own.mkdir()
    searcher = Searcher("ours", [str(executables / "BenchSearch"), str(folder / "documents.tsv"), str(own), "typed"], scratch)
    searcher.ask("build")
    cells = {kind: [] for kind in judged}
    times = {}
    for stated in (language, "english"):
        searcher.ask(f"languages {stated}")
        for kind, queries in judged.items():
            answers = searcher.run("typed", [each["query"] for each in queries])
            for length in (1, 5):
                right = [not set(rows[:length]).isdisjoint(each["targets"]) for each, (_, rows) in zip(queries, answers)]
                cells[kind].append(sum(right) / len(queries))
    for _ in range(2):
        for stated in (language, "english"):
            searcher.ask(f"languages {stated}")
            times[stated] = [time for time, _ in searcher.run("typed", keystrokes(judged))]
    searcher.close()
    cost = median(times[language]) / median(times["english"])
    return [[language, kind, len(judged[kind]), *found, cost] for kind, found in cells.items()]


def table(rows):
    lines = ["| language | typed | found | as English | queries | a keystroke |", "|---|---|---|---|---|---|"]
    for language, kind, count, first, five, plain_first, plain_five, cost in rows:
        found, plain = f"{first:.2f} / {five:.2f}", f"{plain_first:.2f} / {plain_five:.2f}"
        lines.append(f"| {language} | {kind} | {found} | {plain} | {count} | {cost:.2f} × |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(
        prog="scripts/bench languages",
        description="Judges searches for other forms of nouns, last parts of compounds and words after an apostrophe, in ten "
                    "languages: with the language stated, and as English, the default. The texts are Debian's help texts and "
                    "manual pages; the forms are those of dictionaries. Needs Debian and its package lttoolbox; the first run "
                    "fetches 60 MB and builds in release.")
    parser.add_argument("--seed", type=int, default=SEED, help="other queries by the same rules (default: %(default)s)")
    parser.add_argument("--only", metavar="LANGUAGE,…", help=f"some of: {', '.join(LANGUAGES)}")
    parser.add_argument("--skip-build", action="store_true", help="use the program of the last run")
    parser.add_argument("--thread-time", action="store_true", help="time keystrokes by the processor, not by the clock")
    options = parser.parse_args()
    chosen = options.only.split(",") if options.only else list(LANGUAGES)
    unknown = [name for name in chosen if name not in LANGUAGES]
    if unknown:
        parser.error(f"there is no language '{unknown[0]}': {', '.join(LANGUAGES)}")
    if not (shutil.which("apt-get") and shutil.which("lt-proc")):
        raise Stop("needs Debian's apt-get, and its package lttoolbox")
    if options.thread_time:
        os.environ["BENCH_THREAD_TIME"] = "1"
    python, texts = interpreter(), packages()
    executables = built("search", " (minutes the first time)", options.skip_build)
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for language in chosen:
            say(language)
            folder = WORK / f"{language}-{options.seed}"
            command([python, "-B", str(ROOT / "scripts" / "lib" / "judged_languages.py"), language, str(texts), str(folder),
                     str(options.seed)])
            rows += measure(language, executables, folder, Path(scratch))
    print(f"\nA right row first / among the first five, seed {options.seed}\n\n{table(rows)}")


if __name__ == "__main__":
    try:
        main()
    except Stop as stop:
        sys.exit(f"bench: {stop}")
