"""Compiles the extensions in ext/misc of SQLite's source against this package's headers, and registers each with the engine.

Run through scripts/workshop/check-extensions. The source is Debian's package, as for check-sqlite, and stays in the same cache."""

import argparse
import re
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import sqlite_tests  # noqa: E402
from sqlite_tests import ROOT, SOURCE, Missing, Stop, command  # noqa: E402

WORK = ROOT / ".build" / "check-extensions"
INCLUDES = [f"-I{ROOT / 'Sources' / name / 'include'}" for name in ("SQLiteExtensionHeaders", "CSQLCipher")]
START = re.compile(r"^int (sqlite3_\w+_init)\(", re.MULTILINE)
# The engine itself has the first; the second exists in a build of SQLite's shell alone.
LEFT_OUT = {"stmt", "memstat"}
PROGRAM = """
#include "sqlite3.h"
#include <stdio.h>
typedef int (*start_t)(sqlite3 *, char **, const sqlite3_api_routines *);
%s
int main(void) {
    static const struct { const char *name; start_t start; } all[] = {%s};
    int failures = 0;
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        sqlite3 *db = NULL;
        char *message = NULL;
        int rc = sqlite3_open(":memory:", &db);
        if (rc == SQLITE_OK) rc = all[i].start(db, &message, NULL);
        if (rc == SQLITE_OK_LOAD_PERMANENTLY) rc = SQLITE_OK;
        if (rc == SQLITE_OK) rc = sqlite3_exec(db, "SELECT 1", NULL, NULL, NULL);
        if (rc != SQLITE_OK) printf("%%s: %%d %%s\\n", all[i].name, rc, message ? message : "");
        failures += rc != SQLITE_OK;
        sqlite3_free(message);
        if (sqlite3_close(db) != SQLITE_OK) printf("%%s: the connection does not close\\n", all[i].name), failures++;
    }
    return failures != 0;
}
"""


def check(folder):
    sqlite_tests.unpack(folder)
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    compiler = shutil.which("clang")
    command("swift", "build", "--target", "CSQLCipherEngine", cwd=ROOT)
    products = Path(command("swift", "build", "--show-bin-path", cwd=ROOT).strip())
    engine = [path for name in ("CSQLCipherEngine", "CSQLCipherProvider") for path in (products / f"{name}.build").rglob("*.o")]
    names, objects = [], []
    for source in sorted((SOURCE / "ext" / "misc").glob("*.c")):
        starts = START.findall(source.read_text(errors="replace"))
        if not starts or source.stem in LEFT_OUT:
            continue
        command(compiler, "-w", "-O1", "-c", *INCLUDES, source, "-o", WORK / f"{source.stem}.o")
        names += starts
        objects.append(WORK / f"{source.stem}.o")
    declared = "\n".join(f"int {name}(sqlite3 *, char **, const sqlite3_api_routines *);" for name in names)
    (WORK / "main.c").write_text(PROGRAM % (declared, ", ".join(f'{{"{name}", {name}}}' for name in names)))
    libraries = command("pkg-config", "--libs", "libtomcrypt").split()
    command(compiler, *INCLUDES, WORK / "main.c", *objects, *engine, *libraries, "-lz", "-lm", "-lpthread", "-o", WORK / "main")
    command(WORK / "main")
    print(f"check-extensions: {len(names)} extensions of SQLite {sqlite_tests.VERSION} registered")


def main():
    parser = argparse.ArgumentParser(prog="scripts/workshop/check-extensions", description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--from", dest="folder", metavar="FOLDER", help="a folder with Debian's source archive of SQLite")
    try:
        check(parser.parse_args().folder)
    except Missing as error:
        print(f"check-extensions: {error}", file=sys.stderr)
        sys.exit(77)
    except Stop as error:
        print(f"check-extensions: {error}", file=sys.stderr)
        sys.exit(1)


main()
