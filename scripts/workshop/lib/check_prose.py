"""Finds words that CONTRIBUTING.md replaces, lines that are too long, and claims that are not true. Run through check-prose."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SUFFIXES = {".swift", ".c", ".h", ".md", ".py", ""}
COLUMNS = 132
# The limit for code that is shown to readers: on a phone, a site wraps or cuts off longer lines.
SHOWN_COLUMNS = 72

# British spellings, in prose and in the comments of sources; a code span, an address and a name in camel case may have them.
BRITISH = re.compile(
    r"(?<![A-Za-z_.`/\[])(?:un|mis|dis|de)?(?:(?:optim|synchron|recogn|initial|serial|organ|normal)is(?:e|i|a)|colour|behaviour"
    r"|licence|neighbour|favour|learnt|spelt|misspelt|catalogue)\w*", re.I)


def words():
    section = (ROOT / "CONTRIBUTING.md").read_text().split("\n## Words\n")[1].split("\n## ")[0]
    found = [cell.strip() for row in re.findall(r"^\| ([^|`][^|]*) \|", section, re.M) for cell in row.split(",")]
    found = [word for word in found if word not in ("not", "---")]
    if len(found) < 5:
        sys.exit("check-prose: CONTRIBUTING.md has no list of words")
    return found


def files():
    for folder in ("Examples", "Sources", "Tests", "scripts"):
        paths = (path for path in sorted((ROOT / folder).rglob("*")) if path.is_file() and path.suffix in SUFFIXES)
        yield from (path for path in paths if ".build" not in path.parts)
    pages = ("README.md", "ARCHITECTURE.md", "CHANGELOG.md", "NOTICE.md", "SECURITY.md", "Vendor/README.md")
    yield from (ROOT / name for name in pages if (ROOT / name).exists())


ARTICLES = ROOT / "Sources" / "SQLCipherKit" / "Documentation.docc"
NUMBERS = {"4": "four", "5": "five", "6": "six"}
# Statements in several places, by the file that decides: what to find there, each page that says the same, and in which words.
SAME = (
    ("scripts/quickstart", r"takes about (four) minutes", ("README.md", "ARTICLES/CommandLineTool.md"), "about {} minutes"),
    ("scripts/test", r"takes about (25) minutes", ("README.md", "CONTRIBUTING.md"), "{}"),
    ("Examples/Notes/run", r"takes (ten to fifteen) minutes", ("Examples/Notes/README.md",), "{}"),
    ("README.md", r"debug build takes (two to four) minutes", ("ARTICLES/AddingThePackage.md", "ARTICLES/GettingStarted.md"), "{}"),
    ("ARTICLES/AddingThePackage.md", r"a small program is ([\d.]+) MB", ("README.md",),
     "or {} MB with the product `SQLCipherKitCore`"),
    ("ARTICLES/AddingThePackage.md", r"instead\s+of\s+([\d.]+) MB", ("README.md",), "A small program is {} MB"),
    ("ARTICLES/AddingThePackage.md", r"The same program is ([\d.]+) MB", ("README.md",), "A small program is {} MB"),
    ("ARTICLES/AddingThePackage.md", r"Such a program is about (\d+) MB", ("README.md",), "about {} MB"),
    ("Package.swift", r"swift-tools-version: ([\d.]+)", ("README.md", *(
        f"ARTICLES/{name}.md" for name in ("AddingThePackage", "CommandLineTool", "GettingStarted", "Platforms"))), "{}"),
    *(("Package.swift", rf"\.{name}\(\.v(\d+)\)", ("README.md", "ARTICLES/Platforms.md"), name + " {}")
      for name in ("macOS", "iOS", "tvOS", "watchOS", "visionOS")),
    ("scripts/lib/grdb.py", r'VERSION = "(\d+\.\d+)',
     tuple(f"ARTICLES/{name}.md" for name in ("EngineUnderGRDB", "OtherPackages", "Performance")), "GRDB {}"),
    ("Sources/CSQLCipher/Engine/options.h", r"SQLITE_MAX_ATTACHED (\d+)",
     ("ARTICLES/AttachedDatabases.md", "ARTICLES/Platforms.md"), "Up to {}"),
    ("Sources/SQLCipherKitCore/Keys/CipherConfiguration.swift", r"kdfIterations = (\d+_\d+)",
     tuple(f"ARTICLES/{name}.md" for name in ("FormatCompatibility", "Keys", "Performance", "Security")), "{} rounds"),
    ("Sources/SQLCipherKitCore/Connection/DatabaseConfiguration.swift", r"busyTimeout: Duration = \.seconds\((\d)\)",
     ("ARTICLES/Concurrency.md",), "{} seconds by default"),
    ("Sources/SQLCipherKitCore/Connection/DatabaseConfiguration.swift", r"maximumReaders = (\d)",
     ("ARTICLES/Concurrency.md",), "up to {} that read"),
    ("Sources/SQLCipherKitConcurrency/Observation/LiveQuery.swift", r"pause: Duration = \.milliseconds\((\d+)\)",
     ("ARTICLES/InAnApp.md", "ARTICLES/Observation.md"), "{} ms"),
    ("Sources/SQLCipherKitConcurrency/Observation/LiveQuery.swift", r"pageSize: Int = (\d+)",
     ("ARTICLES/InAnApp.md",), "rows: {}, and {} more"),
)


def performance():
    """The table of what encryption costs: each work with how many times as long it takes as without."""
    text = (ARTICLES / "Performance.md").read_text()
    return dict(re.findall(r"^\| ([^|]+) \| ([\d.]+) \| [\d.–]+ \| [\d.–]+ \|$", text, re.M))


def figures():
    """The figures of that table that the questions and answers repeat."""
    times, answer = performance(), (ARTICLES / "FAQ.md").read_text()
    for work, words in (("look-ups by key, default cache", "empty cache take {} times"),
                        ("insert 300,000 rows, write-ahead log", "inserts take {} times"),
                        ("look-ups by key, cache of 100 pages", "up to {} times")):
        if words.format(times.get(work, "?")) not in " ".join(answer.split()):
            yield f"FAQ.md does not say '{words.format(times.get(work, '?'))}', as Performance.md does"


def round_figures():
    """Round figures, in the questions and answers and the first lines of Performance, of its table of work on a disk."""
    text = (ARTICLES / "Performance.md").read_text()
    pages = {"FAQ.md": (ARTICLES / "FAQ.md").read_text(), "Performance.md": text.partition("\n### ")[0]}
    for work, words in (("records inserted in one transaction", "900,000"), ("commits of one record, each on the disk", "5,000"),
                        ("commits of one record, the last at the risk of a power cut", "35,000"),
                        ("records read, opening included", "1.4 million")):
        row = re.search(rf"^\| {work} \|.* ([\d,.]+) \|$", text, re.M)
        times = float(row[1].replace(",", "")) / float(words.replace(",", "").replace(" million", "e6")) if row else 0
        if not 0.85 < times < 1.15:
            yield f"Performance.md: '{work}' is not about {words}: change that on {' and '.join(pages)}, and in check_prose.py"
        for name, page in pages.items():
            if words not in page:
                yield f"{name} does not say '{words}', as the table of Performance.md does"


# Figures that one bench makes and one page has; other pages say them in round words, and link that page.
MEASURED = {
    r"\b0\.1\d s\b": "Performance.md", r"\b\d,\d{3} a second\b": "ReplicationCosts.md",
    r"\bms of processor time\b": "ChangeLogDesign.md",
}


def measured_elsewhere():
    """Measured figures on another page than their own: two copies differ after the next measurement."""
    for path in [ROOT / "README.md", *ROOT.glob("Sources/*/Documentation.docc/*.md")]:
        for figure, home in MEASURED.items():
            for found in re.findall(figure, path.read_text()) if path.name != home else []:
                yield f"{path.name} says '{found}', which {home} has: say it in round words, and link that page"


def commands():
    """The tool's commands that its article does not name."""
    article = (ARTICLES / "CommandLineTool.md").read_text()
    for path in sorted((ROOT / "Sources" / "SQLCipherKitCLI").rglob("*.swift")):
        for name in re.findall(r'commandName: "([a-z-]+)"', path.read_text()):
            if not re.search(rf"`[^`\n]*\b{name}\b[^`\n]*`", article):
                yield f"CommandLineTool.md does not name the command {name}"


def articles():
    """The articles, without the pages that only order a type's symbols."""
    return [path for path in sorted(ARTICLES.glob("*.md")) if not path.read_text().startswith("# `")]


def claims():
    """Claims of the pages that are not so."""
    for source, pattern, pages, form in SAME:
        found = re.search(pattern, (ROOT / source.replace("ARTICLES", str(ARTICLES))).read_text())
        if not found:
            yield f"{source} does not say what {pattern!r} finds"
            continue
        words = form.replace("{}", NUMBERS.get(found[1], found[1]).replace("_", ","))
        for page in pages:
            path = Path(page.replace("ARTICLES", str(ARTICLES)))
            if words not in re.sub(r"\s+", " ", (ROOT / path).read_text()):
                yield f"{path.name} does not say '{words}', as {source} does"
    yield from figures()
    yield from round_figures()
    yield from measured_elsewhere()
    yield from commands()
    readme = (ROOT / "README.md").read_text()
    if readme.count("\n") > 150:
        yield f"README.md has {readme.count(chr(10))} lines, and 150 are the most: move what is less than essential into an article"
    for path in articles():
        if f"({path.relative_to(ROOT)})" not in readme:
            yield f"README.md does not link the article {path.name}"
    for version in re.split(r"(?m)^(?=## )", (ROOT / "CHANGELOG.md").read_text())[1:]:
        if version.count("\n") > 60:
            yield f"CHANGELOG.md: {version.splitlines()[0][3:]} has more than 60 lines: say only what users of the last one notice"
    # The sites that scripts/docs builds are those that Swift's package index is told to build.
    sites = re.search(r"^sites=\((.+)\)$", (ROOT / "scripts" / "docs").read_text(), re.M)[1].split()
    if f"documentation_targets: [{', '.join(sites)}]" not in (ROOT / ".spi.yml").read_text():
        yield f".spi.yml does not name the sites of scripts/docs: {', '.join(sites)}"
    files = list((ROOT / "Tests").rglob("*.swift"))
    names = {name for path in files for name in (path.stem, *path.relative_to(ROOT).parts)}
    functions = {name for path in files for name in re.findall(r"@Test\b[^{]*?\bfunc (\w+)", path.read_text())}
    tests = names | {name for path in files for name in re.findall(r"\b\w+Tests\b", path.read_text())}
    for page in [*ROOT.glob("*.md"), *ROOT.glob("Sources/*/Documentation.docc/*.md"), *ROOT.glob("Examples/*/README.md")]:
        prose = re.sub(r"(?ms)^ *```.*?^ *```$", "", page.read_text())
        for test in set(re.findall(r"`(\w+Tests)[`/]", prose)) - tests:
            yield f"{page.name}: there is no test {test}"
        # Tables with a column of tests.
        for table in re.findall(r"(?m)^\|.*\| test \|\n(?:\|.*\n)+", prose):
            for row in table.splitlines()[2:]:
                named = re.findall(r"`(?:\w+/)?(\w+)`", row.rsplit("|", 2)[1])
                yield from (f"{page.name}: there is no test {test}" for test in named if test not in functions | tests)
                if not named and table.startswith("| event |"):
                    yield f"{page.name}: the row names no test: {row}"


def main():
    pattern = re.compile(r"\b(" + "|".join(re.escape(word) for word in words()) + r")\b", re.I)
    problems = list(claims())
    for path in files():
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        inCode = False
        for number, line in enumerate(text.splitlines(), 1):
            if path.suffix == ".md" and line.startswith("```"):
                inCode = not inCode
            isComment = line.lstrip().startswith(("#",) if path.suffix in (".py", "") else ("//", "* "))
            isTest = path.relative_to(ROOT).parts[0] == "Tests"
            place = f"{path.relative_to(ROOT)}:{number}"
            # A word in a test's code may be data.
            for word in pattern.findall(line) if isComment or not isTest else []:
                # A name in code is not prose.
                if not re.search(rf"(\.|let |case |`){word}\b", line):
                    problems.append(f"{place}: '{word}'; CONTRIBUTING.md has a plainer word")
            isShown = inCode and path.suffix == ".md" and (path.name == "README.md" or path.parent.suffix == ".docc")
            isProse = path.suffix == ".md" and not inCode or path.suffix == ".swift" and isComment and not isTest
            for word in BRITISH.findall(re.sub(r"`[^`]*`|\]\([^)]*\)|<doc:\w+>|https?://\S+", "``", line)) if isProse else []:
                problems.append(f"{place}: '{word}' is British spelling; the pages and comments are American")
            limit = SHOWN_COLUMNS if isShown else COLUMNS
            # The row of a table, an address and a test's vector cannot be broken.
            canBreak = (
                not (path.suffix == ".md" and line.startswith("|")) and "http" not in line and not re.search(r'[0-9a-f]{64}', line)
            )
            if len(line) > limit and canBreak and (isComment or not isTest):
                problems.append(
                    f"{place}: {len(line)} columns, and {limit} are the most" + (" for code in an article" if isShown else "")
                )
    for problem in problems:
        print(f"check-prose: {problem}", file=sys.stderr)
    sys.exit(1 if problems else 0)


main()
