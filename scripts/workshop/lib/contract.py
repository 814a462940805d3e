"""Compares the public calls with the tables of Tests/Contract/Tables: each call's family, and what holds each promise for it.

A table, Tests/Contract/Tables/MODULE.txt, has a line for each reason, `reason NAME: why a promise does not concern a family`.
Then there are the families, each a line `family NAME: PATTERN, PATTERN` and below it, indented, lines `PROMISES HOLDER`. A family's
calls share one implementation. A call belongs to the first family with a pattern that it matches; more patterns may stand on the
lines that follow. The promises are the numbers of PROMISES, and a holder is one of

  generated      the drivers of Tests/Contract run a case of the family
  Suite.test     an existing test holds it; several with commas between
  NAME           a reason
  open           nothing holds it yet
"""
import collections
import fnmatch
import glob
import os
import re

TABLES = "Tests/Contract/Tables"
CASES = "Tests/Contract/Cases"
PROMISES = {
    "1": "threw, so nothing changed", "2": "returned, so it is there", "3": "hostile text reaches nothing else",
    "4": "the same bytes out as in", "5": "neither trap, hang nor race", "6": "no secret told", "7": "every kind of database",
}
# The number of cells that may be open, which only goes down.
MOST_OPEN = 0
# The calls that take a file, and a key or a secret for it, and the functions of articles that open one: each has a door in this
# suite.
DOORS = "Tests/SQLCipherKitTests/Keys/SubstitutedFileTests.swift"
FILE = re.compile(r"\b(DatabaseLocation|Place|\w*[pP]ath: String)\b")
KEY = re.compile(r"\b(DatabaseKey|Secret)\b")
ARTICLES = "Sources/*/Documentation.docc/*.md"
OPENS = re.compile(r"\b(Connection|Database\w+)\((?:[^()]|\([^()]*\))*\bkey: |\b\w*[fF]ileAt: ", re.DOTALL)
# The public types that can hold a value, by what their members take and return: each has a sample in this suite, or a reason.
HIDDEN = "Tests/SQLCipherKitTests/Values/HiddenValueTests.swift"
HOLDERS = {"struct", "class", "enum", "actor"}
VALUE = re.compile(r"\b(Data|FTS5Query|HighlightedText|JSONExpression|OwnedRow|SQL|SQLExpression|SQLPredicate|SQLQuery|SQLValue"
                   r"|SQLValueConvertible|StatementArguments|Value)\b|\[Float\]")
# The asynchronous calls that clean up: each is made in a cancelled task in this suite.
CLEAN_UPS = "Tests/SQLCipherKitTests/Concurrency/CancelledCleanUpTests.swift"
CLEANS_UP = re.compile(r"(close|detach|end|finish|releaseMemory|stop)\(")
CALLS = {"func", "func.op", "init", "method", "subscript", "type.method", "type.subscript"}
# Structs that stand for a connection, a file or a store: what they compute may ask it.
HANDLES = {"Changeset", "Connection.Settings", "Connection.Settings.StatementCache", "DatabaseConverter", "DatabaseDiff",
           "FullTextIndex", "KernelKeyring", "KeySlots", "KeyValueStore", "Row", "Schema", "SharedChangeLog", "SharedKeyValueStore",
           "SharedSchema", "SQLCipherEngine", "VectorIndex"}


def is_call(symbol, handles):
    """A function, initializer, subscript or operator that the package implements; and a property that throws, that code sets,
    or that a handle computes. Types, cases, and the properties of values are none."""
    if any(part.startswith("_") for part in symbol.path) or symbol.is_requirement or symbol.is_unavailable:
        return False
    if symbol.kind in CALLS:
        return True
    accessors = re.search(r"\{([^{}]*)\}$", symbol.declaration)
    if "property" not in symbol.kind or not accessors:
        return False
    return "throws" in accessors[1] or "set" in accessors[1] or symbol.owner in handles


def handles_of(symbols):
    return HANDLES | {".".join(s.path) for s in symbols if s.kind == "class"}


def calls(symbols):
    handles = handles_of(symbols)
    found = collections.defaultdict(set)
    for each in symbols:
        if is_call(each, handles):
            found[each.module].add(".".join(each.path))
    return found


class Family:
    def __init__(self, name, patterns):
        self.name, self.patterns, self.cells, self.calls = name, patterns, {}, []
        self.matched = set()


def read_table(path, problems):
    families, reasons = [], {}
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        reason = re.fullmatch(r"reason (\w+): (.+)", text)
        family = re.fullmatch(r"family ([\w-]+): (.+)", text)
        cells = re.fullmatch(r"((?:\d )+)(.+)", text)
        if reason:
            reasons[reason[1]] = reason[2]
        elif family:
            families.append(Family(family[1], family[2].split(", ")))
        elif cells and families:
            for promise in cells[1].split():
                if promise in families[-1].cells or promise not in PROMISES:
                    problems.append(f"{path}:{number}: promise {promise} is there twice, or is none")
                families[-1].cells[promise] = cells[2]
        elif families and families[-1].patterns and not families[-1].cells:
            # A family's patterns may go on on the next line.
            families[-1].patterns += [each for each in text.split(", ")]
        else:
            problems.append(f"{path}:{number}: not understood: {text}")
    return families, reasons


def tests_there():
    """The names of all tests: `Suite.test`, by the file that the suite is declared in or extended in."""
    found = set()
    for path in glob.glob("Tests/**/*.swift", recursive=True):
        text = open(path, encoding="utf-8").read()
        if "@Test" not in text:
            continue
        suites = set(re.findall(r"^(?:@\w+.*\s)?(?:\w+ )*(?:struct|class|enum|extension) (\w+)", text, re.MULTILINE))
        names = re.findall(r"\bfunc (\w+|`[^`]+`)\(", text)
        found.update(f"{suite}.{name}" for suite in suites for name in names)
    return found


def cases_there():
    """The number of cases that the drivers have of each family."""
    found = collections.Counter()
    for path in glob.glob(CASES + "/*.swift"):
        text = open(path, encoding="utf-8").read()
        # One family's cases are declared together: `family("fetching") { … }`; a case is a `call(…)` in it.
        for name, body in re.findall(r'\bfamily\(\s*"([\w-]+)"(.*?)(?=\bfamily\(\s*"|\Z)', text, re.DOTALL):
            found[name] += len(re.findall(r"\bcall\(", body))
    return found


def article_functions():
    """Returns the functions of the articles' code that open a file with a key: `ARTICLE.NAME(LABELS)`."""
    found = set()
    for path in glob.glob(ARTICLES):
        article = os.path.splitext(os.path.basename(path))[0]
        for code in re.findall(r"```swift\n(.*?)```", open(path, encoding="utf-8").read(), re.DOTALL):
            for indent, name, labels, body in re.findall(
                    r"^( *)(?:\w+ )*?(?:func )?(\w+)\(([^{}()]*)\)[^{}()]*\{\n(.*?)^\1\}$", code, re.DOTALL | re.MULTILINE):
                if OPENS.search(body):
                    words = re.findall(r"(\w+)(?: \w+)?: ", labels)
                    found.add(f"{article}.{name}({''.join(word + ':' for word in words)})")
    return found


def compared(path, what, pattern, wanted):
    """Returns which names the suite at the path lacks, and which it has that are not wanted."""
    tried = set(re.findall(pattern, open(path, encoding="utf-8").read()))
    return [f"{path} lacks {name}, {what}" for name in sorted(wanted - tried)] + [
        f"{path} has {name}, which is not {what}" for name in sorted(tried - wanted)]


def check_suites(symbols):
    """Returns what the suites lack that take their lists from the public interface, or have that is no longer there."""
    calls = [s for s in symbols if is_call(s, set())]
    call = r'"(\w+(?:\.\w+)*\([\w:]*\))"'
    types = {".".join(s.path) for s in symbols if s.kind in HOLDERS and not s.name.startswith("_")}
    holders = {s.owner for s in symbols if VALUE.search(s.declaration) and not s.name.startswith("_")} & types
    return compared(
        DOORS, "a call with a file and a key", call,
        {".".join(s.path) for s in calls if FILE.search(s.declaration) and KEY.search(s.declaration)} | article_functions(),
    ) + compared(
        CLEAN_UPS, "an asynchronous call that cleans up", call,
        {".".join(s.path) for s in calls if CLEANS_UP.match(s.path[-1]) and "async" in s.declaration},
    ) + [f"{HIDDEN} lacks {name}, a type that can hold a value" for name in sorted(
        holders - set(re.findall(r'"([A-Z][\w.]*)"', open(HIDDEN, encoding="utf-8").read())))]


def check(symbols):
    """Prints how many calls, families and cells there are and what holds them. Returns what is wrong."""
    problems, tests, cases, handles = [], tests_there(), cases_there(), handles_of(symbols)
    holders, count, families_count, named, opened = collections.Counter(), 0, 0, set(), 0
    for module, names in sorted(calls(symbols).items()):
        path = f"{TABLES}/{module}.txt"
        count += len(names)
        if not os.path.exists(path):
            problems.append(f"{path} is missing: {module} has {len(names)} public calls")
            continue
        families, reasons = read_table(path, problems)
        families_count += len(families)
        for name in sorted(names):
            for family in families:
                pattern = next((p for p in family.patterns if fnmatch.fnmatchcase(name, p)), None)
                if pattern:
                    family.matched.add(pattern)
                    family.calls.append(name)
                    break
            else:
                problems.append(f"{module}: no family has {name}")
        for family in families:
            place = f"{module}, family {family.name}"
            if family.name in named:
                problems.append(f"{place}: there are two of that name")
            named.add(family.name)
            # A new call of a handle is to be thought about: no pattern takes it in.
            problems += [f"{place}: {p} is too wide" for p in family.patterns if p.rpartition(".")[0].split("(")[0] in handles and
                         "*" in p.split("(")[0]]
            problems += [f"{place}: no call matches {p}" for p in family.patterns if p not in family.matched]
            for promise, meaning in PROMISES.items():
                holder = family.cells.get(promise)
                if not holder:
                    problems.append(f"{place}: nothing is said about promise {promise} ({meaning})")
                    continue
                kind = "reason" if holder in reasons else holder if holder in ("generated", "open") else "test"
                holders[kind] += len(family.calls)
                opened += holder == "open"
                if kind == "generated" and not cases[family.name]:
                    problems.append(f"{place}: {CASES} has no case of it")
                if kind == "test":
                    missing = [each for each in holder.split(", ") if each not in tests]
                    problems += [f"{place}: there is neither a test nor a reason {each}" for each in missing]
    problems += [f"{CASES} has cases of {name}, which is no family" for name in sorted(set(cases) - named)]
    problems += check_suites(symbols)
    if opened > MOST_OPEN:
        problems.append(f"{opened} cells are open, more than {MOST_OPEN}")
    parts = ", ".join(f"{number} {kind}" for kind, number in sorted(holders.items()))
    print(f"contract: {count} calls in {families_count} families with {sum(cases.values())} cases; "
          f"of {sum(holders.values())} promises of calls {parts}; {opened} open cells")
    return problems
