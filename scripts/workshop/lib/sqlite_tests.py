"""SQLite's own tests: fetched, verified, and built as a program for an engine of this package.

Run through scripts/workshop/check-sqlite."""

import hashlib
import os
import re
import shutil
import subprocess
import tarfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
WORK = ROOT / ".build" / "check-sqlite"
ENGINE = ROOT / "Sources" / "CSQLCipher"
# Upstream's own: the engine has patches.
AMALGAMATION = WORK / "upstream" / "sqlite3.c"

# Debian's source package of the version that the engine is: the whole source tree, with the tests and the code that they need.
PACKAGE = "sqlite3"
VERSION = "3.53.4"
ARCHIVE = f"sqlite3_{VERSION}.orig.tar.xz"
SHA256 = "05366adc8ee80c6b1faa71285b49d133c2121238ca58934b077fdeb95934abd4"
SUITES = ["unstable", "testing", "stable"]
SOURCE = WORK / f"sqlite3-{VERSION}"

# The options that SQLite's own build gives its test program (TESTFIXTURE_FLAGS in main.mk).
TESTING = [
    "-DSQLITE_TEST=1", "-DSQLITE_CRASH_TEST=1", "-DSQLITE_SERVER=1", "-DSQLITE_CORE", "-DBUILD_sqlite", "-DSQLITE_NO_SYNC=1",
    "-DTCLSH_INIT_PROC=sqlite3TestInit", "-DSQLITE_SERIES_CONSTRAINT_VERIFY=1", "-DSQLITE_DEFAULT_PAGE_SIZE=1024",
    "-DSQLITE_ENABLE_DBPAGE_VTAB", "-DSQLITE_CKSUMVFS_STATIC", "-DSQLITE_STATIC_RANDOMJSON", "-DSQLITE_STRICT_SUBTYPE=1",
    "-DSQLITE_ENABLE_QRF_IN_TCL",
]
# The features that this package's engine has as well, and what SQLCipher's documentation requires.
STOCK = [
    "-DSQLITE_HAS_CODEC", "-DSQLCIPHER_CRYPTO_OPENSSL", "-DSQLITE_TEMP_STORE=2", "-DSQLITE_THREADSAFE=1",
    "-DSQLITE_EXTRA_INIT=sqlcipher_extra_init", "-DSQLITE_EXTRA_SHUTDOWN=sqlcipher_extra_shutdown",
    "-DSQLCIPHER_OMIT_DEFAULT_LOGGING", "-DHAVE_STDINT_H", "-DHAVE_INTTYPES_H", "-DHAVE_USLEEP",
]
# The headers that the amalgamation has in itself, as SQLCipher changed them. The tests that look inside need these.
HEADERS = ["sqliteInt.h", "vdbeInt.h", "btreeInt.h", "sqliteLimit.h", "os_common.h", "whereInt.h", "hwtime.h"]


class Stop(Exception):
    """An error that is shown to the user in one line."""


class Missing(Exception):
    """The tests cannot be run on this machine."""


def command(*arguments, **options):
    done = subprocess.run([str(a) for a in arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", check=False, **options)
    if done.returncode != 0:
        lines = [line for line in done.stdout.splitlines() if "error" in line or line.startswith("E: ")] or [done.stdout.strip()]
        raise Stop(f"{' '.join(Path(str(a)).name for a in arguments[:2])} … failed: {lines[0][-400:]}")
    return done.stdout


# --- The source tree --------------------------------------------------------------------------------------------------


def cache_folder():
    shared = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sqlcipherkit"
    return Path(os.environ.get("SQLCIPHERKIT_CACHE") or shared).absolute()


def verified(path):
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != SHA256:
        raise Stop(f"{path.name}: expected SHA-256 {SHA256}, found {found}")
    return path


def archive_sites():
    """Where apt gets Debian's packages from, as this machine is configured."""
    if shutil.which("apt-get") is None:
        raise Missing("apt is not installed; --from takes the archive from a folder")
    lines = command("apt-get", "indextargets", "--format", "$(SITE) $(CODENAME) $(COMPONENT)").splitlines()
    fields = [line.split() for line in lines]
    return list(dict.fromkeys(f[0] for f in fields if len(f) == 3 and f[2] == "main" and "-" not in f[1]))


def fetch(cache):
    """Fetches the source package with a configuration of its own for apt: the machine's site, and sources in place of programs."""
    scratch = WORK / "apt"
    for site in archive_sites():
        for suite in SUITES:
            shutil.rmtree(scratch, ignore_errors=True)
            for folder in ("lists/partial", "cache/archives/partial", "source"):
                (scratch / folder).mkdir(parents=True)
            keyring = "[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] "
            (scratch / "sources.list").write_text(f"deb-src {keyring}{site} {suite} main\n")
            options = [f"Dir::Etc::SourceList={scratch}/sources.list", "Dir::Etc::SourceParts=/dev/null",
                       f"Dir::State::Lists={scratch}/lists", f"Dir::Cache={scratch}/cache", f"APT::Sandbox::User={os.getuid()}"]
            apt = ["apt-get", "-qq", *(part for option in options for part in ("-o", option))]
            try:
                command(*apt, "update")
                names = command(*apt, "source", "--print-uris", "--only-source", PACKAGE)
                if ARCHIVE not in names:
                    continue
                command(*apt, "source", "--download-only", "--only-source", "--tar-only", PACKAGE, cwd=scratch / "source")
            except Stop:
                continue
            shutil.copyfile(verified(scratch / "source" / ARCHIVE), cache / f".{ARCHIVE}")
            os.replace(cache / f".{ARCHIVE}", cache / ARCHIVE)
            shutil.rmtree(scratch)
            return
    raise Missing(f"no suite that apt can reach has SQLite {VERSION}; --from takes {ARCHIVE} from a folder")


def unpack(offline):
    """Puts the source tree, adapted, into WORK."""
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    if offline is not None:
        archive = verified(Path(offline) / ARCHIVE)
    else:
        if not (cache / ARCHIVE).exists():
            fetch(cache)
        archive = verified(cache / ARCHIVE)
    shutil.rmtree(SOURCE, ignore_errors=True)
    with tarfile.open(archive) as tar:
        tar.extractall(WORK, filter="data")
    adapt()


def part(source, name):
    """The amalgamation's part of a file."""
    match = re.search(rf"^/\*+ Begin file {re.escape(name)} \*+/\n(.*?)^/\*+ End of {re.escape(name)} \*+/\n", source, re.S | re.M)
    if match is None:
        raise Stop(f"the amalgamation does not have {name}")
    return match.group(1)


def change(file, old, new):
    text = file.read_text()
    if text.count(old) != 1:
        raise Stop(f"{file.name} is not as expected: it lacks {old.strip()!r}")
    file.write_text(text.replace(old, new))


def adapt():
    """Gives the tests the engine's own headers, and the command that opens a database a key."""
    command(ROOT / "scripts" / "vendor", "--unpatched", AMALGAMATION.parent)
    source = AMALGAMATION.read_text(encoding="utf-8")
    for name in HEADERS:
        text = part(source, name)
        if name == "sqliteInt.h":
            text = text.replace(part(text, "sqlite3.h"), '#include "sqlite3.h"\n')
        elif name in ("vdbeInt.h", "btreeInt.h", "whereInt.h"):
            text = '#include "sqliteInt.h"\n' + text
        (SOURCE / "src" / name).write_text(text)
    tcl = SOURCE / "src" / "tclsqlite.c"
    has_codec = 'if( strcmp(zArg,"-has-codec")==0 ){\n      Tcl_AppendResult(interp,'
    change(tcl, has_codec + '"0"', has_codec + 'getenv("CHECK_SQLITE_KEY")?"1":"0"')
    change(tcl, 'if( strcmp(zArg,"-key")==0 ){\n      /* no-op */', 'if( strcmp(zArg,"-key")==0 ){\n      hasKey = 1;')
    change(tcl, "int bTranslateFileName = 1;", "int bTranslateFileName = 1;\n  int hasKey = 0;")
    change(tcl, "  p->maxStmt = NUM_PREPARED_STMTS;", """\
  if( hasKey && getenv("CHECK_SQLITE_KEY") ){
    sqlite3_key_v2(p->db, "main", getenv("CHECK_SQLITE_KEY"), (int)strlen(getenv("CHECK_SQLITE_KEY")));
  }
  p->maxStmt = NUM_PREPARED_STMTS;""")
    change(SOURCE / "src" / "test_config.c", '"has_codec", "0"', '"has_codec", getenv("CHECK_SQLITE_KEY") ? "1" : "0"')


# --- The program ------------------------------------------------------------------------------------------------------


def enabled_features():
    """The features of this package's engine, without its own defaults and limits."""
    names = re.findall(r"^#define (SQLITE_(?:ENABLE_\w+|SOUNDEX))", (ENGINE / "Engine" / "options.h").read_text(), re.M)
    return [f"-D{name}" for name in names]


def test_sources():
    """The C files of the test program, as SQLite's own build lists them."""
    text = (SOURCE / "main.mk").read_text()
    found = []
    for block in re.findall(r"^TESTSRC \+?= \\\n((?:.*\\\n)*.*)\n", text, re.M):
        found += re.findall(r"\$\(TOP\)/(\S+\.c)", block)
    return [*found, "ext/qrf/qrf.c", "src/tclsqlite.c"]


def tcl_headers():
    for folder in ("/usr/include/tcl8.6", "/usr/include/tcl"):
        if Path(folder, "tcl.h").exists():
            return folder
    raise Missing("Tcl's headers are not installed (Debian and Ubuntu: apt-get install tcl8.6-dev)")


def build(variant):
    """Compiles the test program with an engine: "ours" or "stock". Returns its path."""
    folder = WORK / variant
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "testfixture"
    compiler = shutil.which("clang") or shutil.which("cc")
    extensions = [f"-I{SOURCE / path}" for path in ("src", "ext/rtree", "ext/session", "ext/recover", "ext/intck", "ext/rbu",
                                                     "ext/expert", "ext/fts3", "ext/fts5", "ext/misc", "ext/qrf")]
    includes = [f"-I{AMALGAMATION.parent}", *extensions, f"-I{tcl_headers()}"]
    if variant == "ours":
        engine = ["-DSQLCIPHERKIT_LIBTOMCRYPT"]
        tests = ["-include", ENGINE / "Engine" / "options.h", "-include", ENGINE / "include" / "symbols.h", "-DHAVE_STDINT_H",
                 "-DHAVE_INTTYPES_H", "-DHAVE_USLEEP"]
        sources = [ENGINE / "Engine" / "engine.c", *sorted([*ENGINE.glob("Provider/*/*.c"), *ENGINE.glob("System/*.c")])]
        libraries = ["-ltomcrypt"]
    else:
        engine = tests = [*STOCK, *enabled_features()]
        sources, libraries = [AMALGAMATION], ["-lcrypto"]

    def one(job):
        source, flags = job
        target = folder / ("-".join(source.relative_to(ROOT).with_suffix(".o").parts))
        command(compiler, "-O1", "-g1", "-std=gnu11", "-w", "-DNDEBUG", *TESTING, *flags, "-c", source, "-o", target)
        return target

    jobs = [(source, [*engine, "-DSQLITE_PRIVATE=", *includes]) for source in sources]
    jobs += [(SOURCE / path, [*tests, "-DSQLITE_PRIVATE=extern", *includes]) for path in test_sources()]
    with ThreadPoolExecutor(2) as pool:
        objects = list(pool.map(one, jobs))
    command(compiler, "-fuse-ld=lld", *objects, "-ltcl8.6", *libraries, "-lz", "-lm", "-ldl", "-lpthread", "-o", program)
    return program
