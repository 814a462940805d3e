"""The suite `swift`: this package's layer beside the same loops in C and in GRDB. Loaded by bench.py."""

import os
import shutil
from pathlib import Path

HELP = "the Swift layer: raw C, SQLCipherKit and GRDB on this engine, and GRDB on the system's SQLite"
TITLE = "SQLCipherKit's Swift layer: time relative to the same loop in C on the same engine"
BASE = "c"
VARIANTS = ("c", "ours", "grdb", "grdb-system")

GRDB_URL = "https://github.com/groue/GRDB.swift"
GRDB_VERSION = "7.10.0"

# GRDB's own SQLCipher option, as the comments of its manifest describe it; the package is this project's engine.
SWAPS = (
    ('//dependencies.append(.package(url: "https://github.com/sqlcipher/SQLCipher.swift.git", from: "4.11.0"))',
     'dependencies.append(.package(name: "SQLCipher.swift", path: "../../../../Tests/Benchmarks/Engine"))'),
    ('//cSettings.append(.define("SQLITE_HAS_CODEC"))', 'cSettings.append(.define("SQLITE_HAS_CODEC"))'),
    ('//swiftSettings.append(.define("SQLITE_HAS_CODEC"))', 'swiftSettings.append(.define("SQLITE_HAS_CODEC"))'),
    ('//swiftSettings.append(.define("SQLCipher"))', 'swiftSettings.append(.define("SQLCipher"))'),
    ('        .library(name: "GRDBSQLite", targets: ["GRDBSQLite"]),\n', ""),
    ("""        .systemLibrary(
            name: "GRDBSQLite",
            providers: [.apt(["libsqlite3-dev"])]),
""", ""),
    ("""        //.target(
        //    name: "GRDBSQLCipher",
        //    dependencies: [.product(name: "SQLCipher", package: "SQLCipher.swift")]
        //),
""", """        .target(
            name: "GRDBSQLCipher",
            dependencies: [.product(name: "SQLCipher", package: "SQLCipher.swift")]
        ),
"""),
    ('                .target(name: "GRDBSQLite"),\n', ""),
    ('                //.product(name: "SQLCipher", package: "SQLCipher.swift"),\n'
     '                //.target(name: "GRDBSQLCipher"),\n',
     '                .product(name: "SQLCipher", package: "SQLCipher.swift"),\n'
     '                .target(name: "GRDBSQLCipher"),\n'),
)


def fetch_grdb(bench, graph):
    """Clones GRDB at its tag into a graph's build folder and, for the engine, swaps the lines of its manifest."""
    folder = bench.BUILD / graph / "GRDB.swift"
    stamp = bench.BUILD / graph / "GRDB.stamp"
    # The stamp is written last, and a copy made for other swaps is made again.
    wanted = repr((GRDB_VERSION, SWAPS if graph == "engine" else ()))
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    bench.say(f"fetching GRDB {GRDB_VERSION} ({graph})")
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    bench.run(["git", "clone", "--quiet", "--branch", GRDB_VERSION, "--single-branch", GRDB_URL, str(folder)])
    if graph == "engine":
        manifest = folder / "Package.swift"
        text = manifest.read_text()
        for old, new in SWAPS:
            if text.count(old) != 1:
                raise bench.Stop(f"GRDB's manifest is not the one expected; it lacks: {old.strip()}")
            text = text.replace(old, new)
        manifest.write_text(text)
    stamp.write_text(wanted)


def build(bench):
    """Builds the executables. Returns each variant's command."""
    commands = {}
    for graph, products in (("engine", {"c": "BenchC", "ours": "BenchOurs", "grdb": "BenchGRDB"}),
                            ("system", {"grdb-system": "BenchGRDB"})):
        fetch_grdb(bench, graph)
        bench.say(f"building in release ({', '.join(products)})")
        scratch = bench.BUILD / graph / "build"
        common = ["--package-path", str(bench.ROOT / "Tests" / "Benchmarks"), "--scratch-path", str(scratch), "-c", "release"]
        environment = {**os.environ, "SQLCIPHERKIT_BENCHMARK": graph}
        bench.run(["swift", "build", *common], env=environment)
        folder = bench.run(["swift", "build", *common, "--show-bin-path"], env=environment).splitlines()[-1]
        for variant, product in products.items():
            commands[variant] = [str(Path(folder) / product)]
    return commands
