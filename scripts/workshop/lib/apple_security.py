"""Compiles and runs the package's sources for Apple's Keychain and file protection, the blocks of the article "In an app" as one
program, and the model of the article "Vectors from Apple's model", with Tests/AppleSecurity for Apple's modules.

scripts/workshop/check-platforms runs it. It shows that the sources compile against the declarations that Apple documents, without a
warning, and that they send the right requests to the Keychain. It does not show that Apple's Keychain behaves as the one in memory
does.
"""

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
TESTS = ROOT / "Tests" / "AppleSecurity"
ARTICLE = ROOT / "Sources" / "SQLCipherKit" / "Documentation.docc" / "InAnApp.md"
ROOMS = [ROOT / "Sources" / room for room in ("SQLCipherKitCore/Keys", "SQLCipherKitFiles/KeyStores")]
BUILD = ROOT / ".build" / "debug"
WHAT = "Swift for the Keychain and file protection"


def sources():
    """The files that are compiled only on Apple's platforms."""
    marks = ("#if canImport(Security)", "#if canImport(Darwin)")
    files = [path for room in ROOMS for path in sorted(room.glob("*.swift"))]
    return [path for path in files if path.read_text(encoding="utf-8").startswith(marks)]


def check():
    module = BUILD / "Modules" / "SQLCipherKitCore.swiftmodule"
    if not shutil.which("swiftc") or not module.exists():
        print(f"{WHAT}: not compiled (there is no debug build on Linux: SQLCIPHERKIT_DEVELOPMENT=1 swift build)", flush=True)
        return []
    try:
        with tempfile.TemporaryDirectory() as folder:
            print(f"{WHAT}: {build_and_run(Path(folder))}", flush=True)
    except subprocess.CalledProcessError as error:
        print(f"{WHAT}: FAILED: {(error.stdout + error.stderr).strip()[:3000]}", flush=True)
        return ["Keychain"]
    return []


def build_and_run(folder):
    def run(*arguments):
        return subprocess.run([str(a) for a in arguments], cwd=ROOT, capture_output=True, text=True, errors="replace",
                              check=True).stdout

    def swiftc(*arguments):
        run("swiftc", "-swift-version", "6", "-warnings-as-errors", *arguments)

    for name, files in {"Darwin": [TESTS / "Darwin.swift"], **{
            name: sorted((TESTS / name).glob("*.swift")) for name in ("NaturalLanguage", "Security", "SwiftUI")}}.items():
        swiftc("-parse-as-library", "-emit-library", "-static", "-emit-module", "-module-name", name,
               "-emit-module-path", folder / f"{name}.swiftmodule", "-o", folder / f"lib{name}.a", *files)
    targets = [f"SQLCipherKit{part}" for part in ("", "Concurrency", "Core", "Files", "Records", "Search", "Vectors")]
    targets += ["CSQLCipher", "CSQLCipherEngine", "CSQLCipherProvider", "CSQLCipherStems", "CSQLCipherVectors"]
    # As the tool is linked: objects of files that are gone stay in the folders.
    linked = (BUILD / "sqlcipherkit.product" / "Objects.LinkFileList").read_text(encoding="utf-8").split("\n")
    objects = [path for path in (line.strip("'\"") for line in linked) if any(f"/{target}.build/" in path for target in targets)]
    chosen = sources()
    # The program's start is that of the checks.
    app = folder / "InAnApp.swift"
    blocks = re.findall(r"(?ms)^```swift\n(.*?)^```$", ARTICLE.read_text(encoding="utf-8"))
    app.write_text("".join(blocks).replace("@main\n", ""), encoding="utf-8")
    # The files use the internal names of their modules, and those of the package.
    swiftc("-module-name", "AppleSecurity", "-package-name", "sqlcipherkit",
           *[word for name in ("SQLCipherKitCore", "SQLCipherKitFiles")
             for word in ("-Xfrontend", "-testable-import-module", "-Xfrontend", name)],
           "-I", folder, "-I", BUILD / "Modules",
           "-Xcc", f"-fmodule-map-file={BUILD}/CSQLCipher.build/module.modulemap",
           "-Xcc", f"-fmodule-map-file={BUILD}/CSQLCipherStems.build/module.modulemap",
           "-Xcc", f"-fmodule-map-file={BUILD}/CSQLCipherVectors.build/module.modulemap",
           "-Xcc", f"-fmodule-map-file={ROOT}/Sources/CLibTomCrypt/module.modulemap",
           *chosen, app, *sorted((TESTS / "Check").glob("*.swift")), *objects,
           *(folder / f"lib{name}.a" for name in ("Security", "SwiftUI", "NaturalLanguage")),
           "-ltomcrypt", "-lm",
           "-o", folder / "check")
    said = run(folder / "check").strip()
    return f"{len(chosen)} files compiled with stand-ins for Apple's modules, {said}; not run on a Mac"
