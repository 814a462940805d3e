"""Makes a corpus and judged queries, builds the searches that are compared, runs them in turn, and shows speed and relevance. Run
through scripts/bench."""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from datetime import date
from pathlib import Path
from statistics import median, quantiles

sys.path.insert(0, str(Path(__file__).resolve().parent))
import bench_disk  # noqa: E402
import search_corpus  # noqa: E402
import search_queries  # noqa: E402
from bench_build import ROOT, Stop, built, command, say  # noqa: E402
from bench_build import WORK as ALL_WORK  # noqa: E402

WORK = ALL_WORK / "search"
REQUIREMENTS = ROOT / "scripts" / "lib" / "search-requirements.txt"

VARIANTS = {
    "fts5": "FTS5 alone, in C: this engine, prepared statements, tokenizer porter, prefixes of 2 and 3 letters; MATCH with all "
            "words, the last one as a beginning where something is typed",
    "ours": "this package: an index for what people type, and the call for it, without any option",
    "ours-porter": "this package on the same index as fts5",
    "tantivy": "Tantivy 0.27 in Python, words as they are, fuzzy by one edit from 4 letters on, by two from 8; not encrypted",
    "tantivy-stems": "the same with English stems",
}
# The timed workloads, at full size, and about how many seconds all variants take in a round of 100,000 documents.
WORKLOADS = {
    "build": ("index the documents of a table; Tantivy stores them too", 30),
    "first": ("the first keystroke after opening, for each letter of the alphabet", 3),
    "frequent": ("20 hits with snippets for each of the 40 most frequent words of more than three letters", 2),
    "rare": ("the same for 40 words that 3 to 20 documents have", 1),
    "three": ("the same for 40 times three of the 400 most frequent words", 1),
    "typing": ("each keystroke of 20 queries of three or four words, letter by letter", 15),
    "typing-typos": ("the same with a typo in the longest word", 12),
    "correction": ("corrections of 60 mistyped words", 1),
    "newest": ("20 hits for the frequent words among the newest percent of the documents", 1),
    "pages": ("pages 1 to 50 of the hits for each of the 5 most frequent words; no document may be on two", 5),
    "facets": ("the ten most frequent tags of ten frequent and ten rare words' hits; tags are a JSON array", 2),
    "intact": ("compare the index with its table", 5),
    "judged": (f"queries with known answers in {len(search_queries.CLASSES)} classes: a target is first, or in the first 5", 20),
    # The last, as what is inserted would be found.
    "commits": ("insert 1,000 documents, each in a transaction of its own", 2),
    "insert": ("insert 1,000 documents in one transaction, the index kept by triggers", 2),
}
# Which command of an executable does a workload, where it is not its name.
COMMANDS = {"frequent": "search", "rare": "search", "three": "search", "typing": "typed", "typing-typos": "typed"}
# The goals of the package at 100,000 documents.
GOALS = {
    "first": "p95 < 5 ms", "typing": "p95 < 5 ms", "typing-typos": "p95 < 10 ms", "correction": "p95 < 1 ms",
    "pages": "no repeats", "commits": "none > 50 ms",
    "frequent": "ours-porter ≤ 1.1 × fts5", "rare": "ours-porter ≤ 1.1 × fts5", "three": "ours-porter ≤ 1.1 × fts5",
    "title": ".97 / 1.00", "title-typo": ".95 / .99", "title-letters": ".40 / .55", "title-forms": ".88 / .96",
    "title-extra": ".55 / .85", "title-order": ".93 / .99", "title-word": "1.00 / 1.00", "identifier": ".95 / .99",
    "phrase": ".95 / 1.00",
    "known": ".99", "typo": ".97", "forms": ".97", "extra": ".85", "letters": "> Tantivy's",
    **{language: "1.00" for language in search_queries.search_texts.LANGUAGES},
}
# The rows and columns of the tables in the article on search.
ARTICLE = ROOT / "Sources" / "SQLCipherKit" / "Documentation.docc" / "SearchMeasured.md"
ARTICLE_VARIANTS = {"fts5": "FTS5 in C", "ours": "SQLCipherKit", "ours-porter": "on FTS5's index", "tantivy": "Tantivy"}
ARTICLE_WORK = {
    "first": "the first keystroke after opening", "typing": "each keystroke of three or four words",
    "typing-typos": "the same with a typing error", "correction": "corrections of a word",
    "frequent": "20 hits with snippets, a frequent word", "rare": "the same, a rare word",
    "three": "the same, three frequent words", "build": "build the index",
    "intact": "compare the index with its table", "insert": "insert 1,000 documents",
}
ARTICLE_JUDGED = {"ours": "SQLCipherKit", "fts5": "FTS5 in C", "tantivy": "Tantivy", "tantivy-stems": "with stems"}
ARTICLE_CLASSES = {
    "title": "two or three words of a title", "title-typo": "the same with one typing error",
    "title-letters": "the same, letter by letter", "title-forms": "the same with a word in another form",
    "title-extra": "the same and one word too many, in any order", "title-joined": "two words typed as one",
    "title-order": "two words of a title, in any order", "title-word": "a word that is a whole title",
    "identifier": "a version or an identifier",
    "phrase": "three or four words of a body, side by side there", "known": "words that only the targets have together",
    "typo": "these with one typing error", "letters": "these, letter by letter", "forms": "these in other forms",
    "extra": "these and one word too many",
    " ".join(search_queries.NAMES): "two or three parts of texts in " + ", ".join(search_queries.NAMES.values()),
}
ARTICLE_FIGURES = re.compile(r"\n\nMilliseconds of processor time(?:[^\n]+\n)+")
INSERTED = 1_000
QUICK_DOCUMENTS = 10_000
QUICK_SCALE = 4


# --- Preparing --------------------------------------------------------------------------------------------------------


def environment():
    """Python with Tantivy, and the packages whose documentation is read. Returns the interpreter and the packages' folder."""
    folder = WORK / "venv"
    stamp = folder / "requirements"
    python = folder / "bin" / "python"
    if not stamp.is_file() or stamp.read_text() != REQUIREMENTS.read_text():
        say("fetching Tantivy, and packages with documentation")
        shutil.rmtree(folder, ignore_errors=True)
        command([sys.executable, "-m", "venv", str(folder)])
        command([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:",
                 "--no-deps", "--require-hashes", "-r", str(REQUIREMENTS)])
        stamp.write_text(REQUIREMENTS.read_text())
    packages = command([str(python), "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"])
    return str(python), Path(packages.strip())


def corpus(packages, count, rounds, scale, seed):
    """The folder with the documents, those to be inserted later, and the queries. Made once for each number."""
    folder = WORK / f"corpus-{count}-{scale}-{seed}"
    stamp = folder / "stamp"
    # The sources and the makers of a corpus.
    wanted = "\n".join(path.read_text() for path in (
        REQUIREMENTS, *(ROOT / "scripts" / "lib" / f"search_{name}.py" for name in ("corpus", "queries", "texts")))) + f"\n{rounds}"
    if stamp.is_file() and stamp.read_text() == wanted:
        return folder
    say(f"making {count:,} documents and their judged queries, some seconds for each 10,000")
    shutil.rmtree(folder, ignore_errors=True)
    make_corpus(packages, folder, count, rounds, scale, seed)
    stamp.write_text(wanted)
    return folder


def make_corpus(packages, folder, count, rounds, scale, seed):
    """Writes documents.tsv, insert-0.tsv and so on, judged.json and timed.json."""
    folder.mkdir(parents=True)
    made = search_corpus.documents(packages, count + 2 * rounds * INSERTED)
    search_corpus.write(folder / "all.tsv", made)
    del made
    with open(folder / "all.tsv", encoding="utf-8", newline="\n") as lines:
        parts = [("documents.tsv", count)] + [(f"insert-{number}.tsv", INSERTED) for number in range(2 * rounds)]
        for name, length in parts:
            with open(folder / name, "w", encoding="utf-8", newline="\n") as file:
                for _ in range(length):
                    file.write(next(lines))
    (folder / "all.tsv").unlink()
    rules = search_queries.Rules(folder / "documents.tsv", seed, scale)
    (folder / "judged.json").write_text(json.dumps(list(rules.judged()), ensure_ascii=False))
    (folder / "timed.json").write_text(json.dumps(search_queries.timed(rules), ensure_ascii=False))


# --- Running ----------------------------------------------------------------------------------------------------------


def matched(text, is_typed):
    """The query that a program with FTS5 alone makes of a typed text."""
    words = search_corpus.words(text) or ['""']
    ending = "*" if is_typed and not text.endswith(" ") else ""
    return " ".join(f'"{word}"' for word in words) + ending


class Searcher:
    """A process that searches; Tests/Benchmarks/Sources/BenchFTS5/main.c says how it is spoken with."""

    def __init__(self, variant, arguments, scratch):
        self.variant = variant
        self.scratch = scratch
        self.process = subprocess.Popen(
            arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8", errors="replace")

    def ask(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()
        return self.line()

    def line(self):
        line = self.process.stdout.readline()
        if not line:
            raise Stop(f"{self.variant} ended early")
        return line.rstrip("\n")

    def number(self, text):
        """Seconds."""
        return int(self.ask(text).split()[0]) / 1e9

    def run(self, command, queries, file=None):
        """The seconds and the hits of each query, or of each line of a file; None where the variant does not have this."""
        if file is None:
            file = self.scratch / f"{self.variant}.txt"
            lines = [matched(query, command == "typed") if self.variant == "fts5" else query for query in queries]
            file.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        line = self.ask(f"{command} {file}")
        if line == "-":
            return None
        found = []
        while line != ".":
            time, _, rows = line.partition("\t")
            found.append((int(time) / 1e9, [int(row) for row in rows.split(",") if row]))
            line = self.line()
        return found

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def searchers(variants, executables, python, documents, folder, scratch):
    made = {}
    for variant in variants:
        own = folder / variant
        own.mkdir()
        if variant == "fts5":
            arguments = [str(executables / "BenchFTS5"), str(documents), str(own)]
        elif variant.startswith("ours"):
            index = "porter" if variant == "ours-porter" else "typed"
            arguments = [str(executables / "BenchSearch"), str(documents), str(own), index]
        else:
            arguments = [python, "-B", str(ROOT / "scripts" / "lib" / "search_tantivy.py"), str(documents), str(own),
                         "en_stem" if variant == "tantivy-stems" else "default"]
        made[variant] = Searcher(variant, arguments, scratch)
    return made


class Measured:
    """Seconds of each workload and class and variant, the sizes of the indexes, and how many judged queries found a target."""

    def __init__(self):
        self.times = {}
        self.sizes = {}
        self.found = {}
        self.first = {}
        self.missed = {}
        self.slowest = {}
        self.repeats = {}

    def add(self, workload, variant, times):
        self.times.setdefault((workload, variant), []).extend(times)

    def percentile(self, workload, variant, percent):
        times = sorted(self.times[workload, variant])
        return times[0] if len(times) == 1 else quantiles(times, n=100, method="inclusive")[percent - 1]

    def judge(self, variant, judged, answers):
        for each, (_, rows) in zip(judged, answers):
            hit = not set(rows[:5]).isdisjoint(each["targets"])
            self.found.setdefault((each["class"], variant), []).append(hit)
            self.first.setdefault((each["class"], variant), []).append(not set(rows[:1]).isdisjoint(each["targets"]))
            if not hit:
                self.missed.setdefault(variant, []).append({**each, "found": rows[:5]})

    def note_repeats(self, variant, answers):
        self.repeats[variant] = self.repeats.get(variant, 0) + sum(len(rows) - len(set(rows)) for _, rows in answers)

    def note_slowest(self, workload, variant, queries, answers):
        ranked = sorted(zip((time for time, _ in answers), queries), reverse=True)[:10]
        self.slowest[f"{workload} {variant}"] = [[query, round(time * 1e3, 3)] for time, query in ranked]


def measure(made, folder, workloads, rounds):
    """Each workload in turn, in each of its rounds all variants in turn."""
    measured = Measured()
    timed = json.loads((folder / "timed.json").read_text())
    judged = json.loads((folder / "judged.json").read_text())
    order = list(made)

    def turned(number):
        turn = number % len(order)
        return order[turn:] + order[:turn]

    for variant in order:
        say(f"build, {variant}")
        time, index, file = made[variant].ask("build").split()
        measured.add("build", variant, [int(time) / 1e9])
        measured.sizes[variant] = (int(index), int(file))
    for workload in (name for name in WORKLOADS if name in workloads):
        if workload == "build":
            continue
        say(f"{workload}: {WORKLOADS[workload][0]}")
        for number in range(rounds):
            for variant in turned(number):
                searcher = made[variant]
                if workload == "commits":
                    answers = searcher.run(workload, None, folder / f"insert-{rounds + number}.tsv")
                    if answers:
                        measured.add(workload, variant, [time for time, _ in answers])
                elif workload == "intact":
                    answer = searcher.ask(workload)
                    if answer != "-":
                        measured.add(workload, variant, [int(answer) / 1e9])
                elif workload == "insert":
                    measured.add(workload, variant, [searcher.number(f"insert {folder / f'insert-{number}.tsv'}")])
                elif workload == "first":
                    for letter in timed["first"]:
                        searcher.ask("open")
                        answer = searcher.run("typed", [letter])
                        measured.add(workload, variant, [answer[0][0]])
                elif workload == "judged":
                    answers = searcher.run("typed", [each["query"] for each in judged])
                    for each, (time, _) in zip(judged, answers):
                        measured.add(each["class"], variant, [time])
                    if number == 0:
                        measured.judge(variant, judged, answers)
                else:
                    answers = searcher.run(COMMANDS.get(workload, workload), timed[workload])
                    if answers:
                        measured.add(workload, variant, [time for time, _ in answers])
                        if workload == "pages":
                            measured.note_repeats(variant, answers)
                        measured.note_slowest(workload, variant, timed[workload], answers)
    return measured


# --- Showing ----------------------------------------------------------------------------------------------------------


def shown(seconds):
    return f"{seconds * 1e3:.3g}" if seconds < 0.9995 else f"{float(f'{seconds * 1e3:.3g}'):,.0f}"


def speed_rows(measured, workloads, variants):
    """p50 and p95 in milliseconds of each variant; whole seconds' work as the median of its rounds."""
    rows = []
    for workload in workloads:
        if workload == "judged":
            continue
        row = [workload]
        for variant in variants:
            if (workload, variant) not in measured.times:
                row.append("–")
            elif workload in ("build", "insert", "intact"):
                row.append(shown(median(measured.times[workload, variant])))
            elif workload == "commits":
                times = measured.times[workload, variant]
                row.append(f"{shown(median(times))}, most {shown(max(times))}")
            else:
                row.append(" / ".join(shown(measured.percentile(workload, variant, percent)) for percent in (50, 95)))
        rows.append([*row, GOALS.get(workload, "")])
    if measured.sizes:
        rows.append(["index, MB", *(f"{measured.sizes[variant][0] / 1e6:.0f}" for variant in variants), ""])
    return rows


def ratios(measured, workloads, variants):
    """For top 20: the time of the package's search on FTS5's own index over that of FTS5."""
    if not {"fts5", "ours-porter"} <= set(variants):
        return ""
    parts = []
    for workload in ("frequent", "rare", "three"):
        if workload in workloads:
            pairs = zip(measured.times[workload, "ours-porter"], measured.times[workload, "fts5"])
            parts.append(f"{workload} {median(ours / theirs for ours, theirs in pairs):.2f}")
    return f"ours-porter / fts5, the median of all queries' ratios: {', '.join(parts)}." if parts else ""


def repeats(measured):
    """The number of hits of all pages that were on an earlier page too."""
    counts = ", ".join(f"{variant} {count}" for variant, count in measured.repeats.items())
    return f"Hits that were on an earlier page too: {counts}." if counts else ""


def relevance_rows(measured, variants):
    """The parts of the judged queries that have a target first and in the first five; p50 and p95 in milliseconds."""
    rows = []
    for name in search_queries.CLASSES:
        if not any((name, variant) in measured.found for variant in variants):
            continue
        row = [name]
        for variant in variants:
            found = measured.found[name, variant]
            first = measured.first[name, variant]
            row.append(f"{sum(first) / len(first):.2f}/{sum(found) / len(found):.2f}  "
                       f"{shown(measured.percentile(name, variant, 50))} / {shown(measured.percentile(name, variant, 95))}")
        rows.append([*row, str(len(found)), GOALS.get(name, "")])
    return rows


def table(head, rows, is_markdown=False):
    if is_markdown:
        lines = [head, ["---"] * len(head), *rows]
        return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
    rows = [head, *rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def report(measured, workloads, variants, documents, is_markdown):
    """The tables, and what their rows and columns are."""
    kinds = list(WORKLOADS.items()) if len(workloads) == len(WORKLOADS) else [(name, WORKLOADS[name]) for name in workloads]
    parts = [f"{documents:,} documents. Milliseconds, p50 / p95 of all queries and rounds; build, intact and insert: the median.",
             table(["workload", *variants, "goal"], speed_rows(measured, workloads, variants), is_markdown)]
    parts += filter(None, [ratios(measured, workloads, variants), repeats(measured)])
    if "judged" in workloads:
        parts += ["The parts of the judged queries that have a target first / in the first five, then milliseconds, p50 / p95.",
                  table(["class", *variants, "queries", "goal"], relevance_rows(measured, variants), is_markdown)]
    meanings = [(name, text) for name, (text, _) in kinds]
    meanings += search_queries.CLASSES.items() if "judged" in workloads else []
    meanings += [(variant, VARIANTS[variant]) for variant in variants]
    parts.append(table(["", "means"], [list(pair) for pair in meanings], is_markdown))
    return "\n\n".join(parts)


def saved(measured, options, place, load):
    """The output of --json; --article takes its figures from it."""
    figures = [{"workload": workload, "variant": variant, "count": len(times), "most": max(times),
                "p50": measured.percentile(workload, variant, 50), "p95": measured.percentile(workload, variant, 95)}
               for (workload, variant), times in measured.times.items()]
    relevance = [{"class": name, "variant": variant, "first": sum(measured.first[name, variant]), "found": sum(found),
                  "queries": len(found)} for (name, variant), found in measured.found.items()]
    return {"documents": options.documents, "rounds": options.rounds, "seed": options.seed, "thread_time": options.thread_time,
            "date": date.today().isoformat(), "machine": place, "load": load, "figures": figures, "relevance": relevance,
            "bytes": measured.sizes, "repeats": measured.repeats, "missed": measured.missed, "slowest": measured.slowest}


def article(text, run):
    """The article with the figures of a run: a paragraph that says which run it was, and two tables, known by their first lines."""
    thread_time = " --thread-time" if run["thread_time"] else ""
    said = (f"Milliseconds of {'processor time' if thread_time else 'processor time, by the clock'}, p50 / p95 of all queries of "
            f"`./scripts/bench search --rounds {run['rounds']} --seed {run['seed']}{thread_time}`, all variants in turn in each "
            f"round, on {run['date']}: {run['documents']:,} documents, {run['machine']}, load {run['load']:.1f} before.")
    text, count = ARTICLE_FIGURES.subn(
        lambda _: "\n\n" + textwrap.fill(said, 132, break_long_words=False, break_on_hyphens=False) + "\n", text)
    if count != 1:
        raise Stop(f"{ARTICLE.name} has no place for the figures")
    figures = {(each["workload"], each["variant"]): each for each in run["figures"]}
    judged = {(each["class"], each["variant"]): each for each in run["relevance"]}

    def time(workload, variant):
        if (workload, variant) not in figures:
            return "–"
        percents = ("p50",) if workload in ("build", "insert", "intact") else ("p50", "p95")
        return " / ".join(shown(figures[workload, variant][percent]) for percent in percents)

    def found(classes, variant, *kinds):
        rows = [judged[name, variant] for name in classes.split()]
        return [sum(row[kind] for row in rows) / max(1, sum(row["queries"] for row in rows)) for kind in kinds]

    speed = [[what, *(time(workload, variant) for variant in ARTICLE_VARIANTS)] for workload, what in ARTICLE_WORK.items()]
    speed.append(["the index, MB", *(f"{run['bytes'][variant][0] / 1e6:.0f}" for variant in ARTICLE_VARIANTS)])
    order = [[what, *("{:.2f} / {:.2f}".format(*found(classes, variant, "first", "found")) for variant in ARTICLE_JUDGED),
              str(sum(judged[name, "ours"]["queries"] for name in classes.split()))]
             for classes, what in ARTICLE_CLASSES.items()]
    text = with_table(text, ["milliseconds", *ARTICLE_VARIANTS.values()], speed)
    return with_table(text, ["typed", *ARTICLE_JUDGED.values(), "queries"], order)


def with_table(text, head, rows):
    """The text with these rows in the table that has this head."""
    lines = table(head, rows, True)
    start = text.find("\n" + lines[:lines.index("\n") + 1])
    if start < 0:
        raise Stop(f"{ARTICLE.name} has no table of {', '.join(head)}")
    end = text.find("\n\n", start)
    return text[:start + 1] + lines + text[end:]


# --- Options ----------------------------------------------------------------------------------------------------------


def explained():
    width = max(len(name) for name in [*WORKLOADS, *VARIANTS, *search_queries.CLASSES])
    lines = ["workloads, and about how many seconds a round of 100,000 documents takes with all variants:"]
    lines += [f"  {name:{width}}  {text} ({seconds} s{', once' if name == 'build' else ''})"
              for name, (text, seconds) in WORKLOADS.items()]
    lines += ["classes of judged queries:"] + [f"  {name:{width}}  {text}" for name, text in search_queries.CLASSES.items()]
    lines += ["variants:"] + [f"  {name:{width}}  {text}" for name, text in VARIANTS.items()]
    return "\n".join(lines)


def arguments():
    parser = argparse.ArgumentParser(
        prog="scripts/bench search", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Compares full-text search with FTS5 in C and with Tantivy: how fast, and how well it finds what people want.\n"
        "The documents are cut from the documentation of packages that the first run installs in .build, and generated; the same\n"
        "packages give the same documents and queries. The first run also builds in release. Python 3.11 or later.",
        epilog=explained())
    parser.add_argument("--documents", type=int, default=100_000,
                        help="how many (default 100,000; 1,000,000 takes about ten times as long)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each workload, all variants in turn (default 5)")
    parser.add_argument("--seed", type=int, default=search_queries.SEED,
                        help="other queries by the same rules: judge a change with queries that it was not made with")
    parser.add_argument("--quick", action="store_true",
                        help=f"{QUICK_DOCUMENTS:,} documents, a quarter of the queries, two rounds: for a look")
    parser.add_argument("--json", metavar="FILE",
                        help="write the figures, the judged queries that miss and the slowest queries as JSON")
    parser.add_argument("--markdown", metavar="FILE", help="write the tables as Markdown")
    parser.add_argument("--article", action="store_true",
                        help="write the figures into the tables of the article on search; needs all workloads and variants")
    parser.add_argument("--figures", metavar="FILE", help="with --article: those that a run wrote with --json; measure nothing")
    parser.add_argument("--only", metavar="WORKLOAD,…", help="these workloads alone; the index is built in any case")
    parser.add_argument("--variants", default=",".join(VARIANTS), help="some of: " + ", ".join(VARIANTS))
    parser.add_argument("--list", action="store_true",
                        help="print what each workload does and how long it takes, and build nothing")
    parser.add_argument("--thread-time", action="store_true",
                        help="time searches by the processor, not by the clock: for a machine that does other things as well")
    parser.add_argument("--skip-build", action="store_true", help="use the programs of the last run")
    parser.add_argument("--corpus", metavar="FOLDER", help="only make documents and queries, in a new folder; with --packages")
    parser.add_argument("--packages", metavar="FOLDER", help="where the packages are from which --corpus cuts documents")
    options = parser.parse_args()
    options.variants = options.variants.split(",")
    options.only = options.only.split(",") if options.only else list(WORKLOADS)
    if options.quick:
        options.documents, options.rounds = min(options.documents, QUICK_DOCUMENTS), 2
    needed = {*ARTICLE_VARIANTS, *ARTICLE_JUDGED}
    if options.article and not (set(WORKLOADS) <= set(options.only) and needed <= set(options.variants)):
        parser.error("the article's tables need all workloads and variants")
    if options.rounds < 1 or options.documents < 1_000:
        parser.error("at least one round, and 1,000 documents")
    if not set(options.variants) <= set(VARIANTS) or not set(options.only) <= set(WORKLOADS):
        parser.error("unknown variant or workload")
    return options


def data_folder(documents):
    """Memory where there is enough: the disk is not what is compared."""
    memory = Path("/dev/shm")
    fits = memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > documents * 8_000
    return tempfile.TemporaryDirectory(prefix="sqlcipherkit-bench-", dir=memory if fits else None)


def main():
    options = arguments()
    if options.list:
        print(explained())
        return
    if options.article and options.figures:
        ARTICLE.write_text(article(ARTICLE.read_text(), json.loads(Path(options.figures).read_text())))
        return
    if options.corpus:
        if not options.packages or Path(options.corpus).exists():
            raise Stop("--corpus needs --packages, and a folder that is not there yet")
        make_corpus(Path(options.packages), Path(options.corpus), options.documents, options.rounds,
                    QUICK_SCALE if options.quick else 1, options.seed)
        return
    if not (ROOT / "Vendor" / "sqlcipher" / "sqlite3.c").exists():
        raise Stop("the engine's source is missing: run ./scripts/setup first")
    if sys.version_info < (3, 11):
        raise Stop("Tantivy's wheels need Python 3.11 or later")
    WORK.mkdir(parents=True, exist_ok=True)
    python, packages = environment()
    folder = corpus(packages, options.documents, options.rounds, QUICK_SCALE if options.quick else 1, options.seed)
    executables = built("search", skips=options.skip_build)
    if options.thread_time:
        os.environ["BENCH_THREAD_TIME"] = "1"
    with data_folder(options.documents) as data:
        place, load = bench_disk.machine(Path(data)), os.getloadavg()[0]
        made = searchers(options.variants, executables, python, folder / "documents.tsv", Path(data), Path(data))
        try:
            measured = measure(made, folder, options.only, options.rounds)
        finally:
            for searcher in made.values():
                searcher.close()
    print(report(measured, options.only, options.variants, options.documents, False))
    if options.markdown:
        Path(options.markdown).write_text(report(measured, options.only, options.variants, options.documents, True) + "\n")
    run = saved(measured, options, place, load)
    if options.article:
        ARTICLE.write_text(article(ARTICLE.read_text(), run))
    if options.json:
        Path(options.json).write_text(json.dumps(run, ensure_ascii=False, indent=1) + "\n")


if __name__ == "__main__":
    try:
        main()
    except Stop as stop:
        sys.exit(f"bench: {stop}")
    except KeyboardInterrupt:
        sys.exit(130)
