"""Finds words that CONTRIBUTING.md replaces with others, and lines that are too long. Run through scripts/workshop/check-prose."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SUFFIXES = {".swift", ".c", ".h", ".md", ".py", ""}
COLUMNS = 132
# The limit for code that is shown to readers: on a phone, a site wraps or cuts off longer lines.
SHOWN_COLUMNS = 72


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


def main():
    pattern = re.compile(r"\b(" + "|".join(re.escape(word) for word in words()) + r")\b", re.I)
    problems = []
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
