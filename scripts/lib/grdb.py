"""Puts GRDB as it is published on this package's engine, through its own SQLCipher option, as the comments of its manifest say.

Used by scripts/workshop/check-grdb and scripts/bench."""

import shutil
import subprocess

URL = "https://github.com/groue/GRDB.swift"
VERSION = "7.10.0"

# The lines of GRDB's manifest that its README says to change, with their replacements. DEPENDENCY is the package with the engine.
# The article "The engine under GRDB" shows the same lines; a test compares the two.
SWAPS = (
    ('//dependencies.append(.package(url: "https://github.com/sqlcipher/SQLCipher.swift.git", from: "4.11.0"))',
     "dependencies.append(DEPENDENCY)"),
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
            dependencies: [.product(name: "SQLCipher", package: "SQLCipherKit")]
        ),
"""),
    ('                .target(name: "GRDBSQLite"),\n', ""),
    ('                //.product(name: "SQLCipher", package: "SQLCipher.swift"),\n'
     '                //.target(name: "GRDBSQLCipher"),\n',
     '                .product(name: "SQLCipher", package: "SQLCipherKit"),\n'
     '                .target(name: "GRDBSQLCipher"),\n'),
)


class Unexpected(Exception):
    """GRDB is not the expected version, or cannot be fetched."""


def swapped(manifest, dependency):
    """GRDB's manifest for this engine. `dependency` is the Swift code of the entry in `dependencies`."""
    for old, new in SWAPS:
        if manifest.count(old) != 1:
            raise Unexpected(f"GRDB's manifest is not the one expected; it lacks: {old.strip()}")
        manifest = manifest.replace(old, new.replace("DEPENDENCY", dependency))
    return manifest


def clone(folder):
    """Clones GRDB's source at its tag into a new folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        done = subprocess.run(["git", "clone", "--quiet", "--branch", VERSION, "--single-branch", URL, str(folder)],
                              capture_output=True, text=True, check=False)
    except OSError as error:
        raise Unexpected(f"git cannot be run: {error.strerror}") from error
    if done.returncode != 0:
        raise Unexpected(f"git clone {URL}: {(done.stderr.strip().splitlines() or ['failed'])[-1]}")


def on_engine(folder, package):
    """Puts GRDB into a folder, on the engine of the package at a path that is absolute or relative to GRDB."""
    clone(folder)
    manifest = folder / "Package.swift"
    manifest.write_text(swapped(manifest.read_text(), f'.package(name: "SQLCipherKit", path: "{package}")'))
