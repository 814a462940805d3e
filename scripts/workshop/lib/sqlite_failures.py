"""The list of SQLite's tests that fail, with their reasons: Tests/Proofs/SQLite/failures.txt."""

from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
LIST = ROOT / "Tests" / "Proofs" / "SQLite" / "failures.txt"
ENGINES = ("ours", "stock")

HEAD = """\
# SQLite's tests that fail on this package's engine ("ours") and on the pinned SQLCipher with OpenSSL ("stock"), without a key
# ("plain") and with one ("keyed"). A line that names one engine alone is a difference between the two, and says why. Where both
# fail alike, it is SQLCipher: encrypted pages have reserved bytes and a size of their own, a file begins with a salt, and no test
# that reads or writes the bytes of a file can expect what it does. A name with a star stands for tests that fail in one run and
# not in the next.
#
# scripts/workshop/check-sqlite compares with this list, and scripts/workshop/check-sqlite --update writes it:
# MODE, ENGINE, FILE: TESTS | REASON
"""


def steady(tests, listed):
    """The tests for which no name with a star stands."""
    stars = [test for test in listed if "*" in test]
    return {test for test in tests if not any(fnmatchcase(test, star) for star in stars)}


class Failures:
    """Failed tests by engine, mode and file. A test that ends the program is listed by how it ended, in parentheses."""

    def __init__(self):
        self.tests = {}
        self.reasons = {}

    def of(self, engine, mode, name):
        return self.tests.get((engine, mode, name), set())

    def add(self, engine, mode, failed):
        for name, tests in failed.items():
            self.tests.setdefault((engine, mode, name), set()).update(tests)

    def differences(self, engine, mode, name, failed):
        """The tests that fail and are not listed, and those that are listed and do not fail."""
        listed = self.of(engine, mode, name)
        return steady(failed, listed) - listed, {test for test in listed - failed if "*" not in test}

    def keep_stars(self, before):
        """Replaces tests by the names with a star that stand for them in an earlier list."""
        for key, listed in before.tests.items():
            stars = {test for test in listed if "*" in test}
            if stars:
                self.tests[key] = steady(self.tests.get(key, set()), stars) | stars

    @staticmethod
    def read():
        found = Failures()
        text = LIST.read_text(encoding="utf-8") if LIST.exists() else ""
        for line in text.splitlines():
            if not line or line.startswith("#"):
                continue
            head, rest = line.split(": ", 1)
            mode, who, name = head.split(", ")
            tests, _, reason = rest.partition(" | ")
            found.reasons[mode, who, name] = reason.strip()
            names = set(tests.replace("(signal ", "(signal_").split())
            for engine in ENGINES if who == "both" else (who,):
                found.add(engine, mode, {name: {test.replace("_", " ") if test.startswith("(") else test for test in names}})
        return found

    def rows(self):
        """(mode, who, file, tests) for each line of the list."""
        for mode, name in sorted({(mode, name) for _, mode, name in self.tests}, reverse=False):
            ours, stock = self.of("ours", mode, name), self.of("stock", mode, name)
            for who, tests in (("both", ours & stock), ("ours", ours - stock), ("stock", stock - ours)):
                if tests:
                    yield mode, who, name, sorted(tests)

    def write(self, before):
        self.keep_stars(before)
        lines = []
        for mode, who, name, tests in self.rows():
            reason = before.reasons.get((mode, who, name)) or ("" if who == "both" else "?")
            lines.append(f"{mode}, {who}, {name}: {' '.join(tests)}" + (f" | {reason}" if reason else ""))
        LIST.parent.mkdir(parents=True, exist_ok=True)
        LIST.write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")

    def problems(self, found, engines, names):
        """The differences from this list, in sentences."""
        said = []
        for mode in ("plain", "keyed"):
            for name in names:
                for engine in engines:
                    new, gone = self.differences(engine, mode, name, found.of(engine, mode, name))
                    if new:
                        said.append(f"{engine}, {mode}, {name}: fails {' '.join(sorted(new)[:8])}")
                    if gone:
                        said.append(f"{engine}, {mode}, {name}: no longer fails {' '.join(sorted(gone)[:8])}")
        said += [f"{', '.join(key)}: has no reason" for key, reason in self.reasons.items() if reason == "?"]
        return said
