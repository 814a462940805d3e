"""Compiles, links, runs and tests the package's C for each platform. scripts/workshop/check-platforms runs it."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
ENGINE = ROOT / "Sources" / "CSQLCipher"
VECTORS = ROOT / "Sources" / "CSQLCipherVectors"
STEMS = ROOT / "Sources" / "CSQLCipherStems"
PROBE = ROOT / "Tests" / "ProviderProbe"
WORK = ROOT / ".build" / "platforms"

# The probe's files that need neither a database nor POSIX.
BARE_PROBE = ["main", "vectors", "primitives", "poly1305", "argon2", "pages", "with_kernels"]
COMMANDS = ["choice", "vectors", "primitives", "argon2", "pages"]
SHORT_COMMANDS = COMMANDS[:3]


@dataclass(frozen=True)
class Platform:
    name: str
    target: str
    has_engine: bool = True  # or the crypto provider alone
    links: str = ""  # why it is not linked
    runner: str = ""  # "self", "qemu", "wine", "wasmtime"
    not_run: str = ""  # why it is not run
    libraries: tuple = ()
    short: bool = False


NO_STUBS = "the compiler's package has Apple's C library for macOS alone"
NO_MAC = "needs a Mac"
PLATFORMS = [
    Platform("macOS, arm64", "aarch64-macos", not_run=NO_MAC, short=True),
    Platform("macOS, x86-64", "x86_64-macos", not_run=NO_MAC),
    Platform("iOS, arm64", "aarch64-ios", links=NO_STUBS, not_run=NO_MAC),
    Platform("iOS simulator, arm64", "aarch64-ios-simulator", links=NO_STUBS, not_run=NO_MAC),
    Platform("tvOS, arm64", "aarch64-tvos", links=NO_STUBS, not_run=NO_MAC),
    Platform("watchOS, arm64", "aarch64-watchos", links=NO_STUBS, not_run=NO_MAC),
    Platform("visionOS, arm64", "aarch64-visionos", links=NO_STUBS, not_run=NO_MAC),
    Platform("Linux, musl, x86-64", "x86_64-linux-musl", runner="self", short=True),
    Platform("Linux, musl, arm64", "aarch64-linux-musl", runner="qemu"),
    Platform("Windows, x86-64", "x86_64-windows-gnu", has_engine=False, runner="wine", libraries=("-lbcrypt",)),
    Platform("WASI", "wasm32-wasi", has_engine=False, runner="wasmtime", libraries=("-Wl,-z,stack-size=1048576",)),
]

# The results of other scripts, in the same columns: compiled, linked, run, tested.
ELSEWHERE = [
    ("Linux, glibc, x86-64", "yes, with the Swift layer and the tool", "yes", "yes", "all tests: `scripts/test`"),
    ("Linux, one static file, x86-64", "yes, the tool", "yes", "yes, in an empty folder as its root",
     "a database made, filled, read: `scripts/test --long`"),
    ("Linux, glibc, arm64", "crypto provider", "yes", "under qemu",
     "vectors, pages, random cases: `scripts/workshop/test-aarch64`"),
]


def table():
    """The table of the article Platforms.md. Each row says what a run of its script does, not what it should."""
    rows = ["| platform | compiled | linked | run | tested |", "|---|---|---|---|---|"]
    for name, *cells in ELSEWHERE:
        rows.append(f"| {name} | {' | '.join(cells)} |")
    for platform in PLATFORMS:
        what = "engine and provider" if platform.has_engine else "crypto provider"
        how = {"self": "yes", "qemu": "under qemu", "wine": "under wine", "wasmtime": "under wasmtime"}.get(platform.runner, "no")
        tested = "no"
        if platform.runner:
            tested = "vectors, pages, Argon2" + (", files exchanged" if platform.has_engine else "")
        rows.append(f"| {platform.name} | {what} | {'no' if platform.links else 'yes'} | {how} | {tested} |")
    return "\n".join(rows)


class Failure(Exception):
    pass


def run(arguments, timeout=300, **options):
    try:
        done = subprocess.run([str(a) for a in arguments], capture_output=True, text=True, errors="replace", timeout=timeout,
                              check=False, **options)
    except subprocess.TimeoutExpired as error:
        raise Failure(f"{Path(arguments[0]).name} took more than {timeout} s") from error
    if done.returncode != 0:
        text = (done.stdout + done.stderr).strip()
        raise Failure(f"{' '.join(str(a) for a in arguments[-3:])}: status {done.returncode}\n{text[:3000]}")
    return done.stdout


class Compiler:
    def __init__(self):
        import ziglang
        self.folder = Path(ziglang.__file__).parent
        self.headers = self.folder / "lib" / "libc" / "include"
        cache = str(WORK / "cache")
        self.environment = {**os.environ, "ZIG_GLOBAL_CACHE_DIR": cache, "ZIG_LOCAL_CACHE_DIR": cache}

    def __call__(self, platform, *arguments):
        # Without -O the compiler adds a sanitizer, whose library it has to compile for each platform first;
        # scripts/workshop/check-provider has a run with one.
        options = ["-target", platform.target, "-fno-sanitize=undefined"]
        if "-ios" in platform.target or platform.target.split("-")[1] in ("tvos", "watchos", "visionos"):
            # Apple's C headers are the same for all of its systems, but the package looks for them for macOS alone.
            options += ["-isystem", self.headers / "any-darwin-any"]
        # Long enough for a machine at work, which compiles a C library for the first time.
        return run([self.folder / "zig", "cc", *options, *arguments], timeout=1800, env=self.environment, cwd=ROOT)


def sources(platform):
    found = sorted(
        [*ENGINE.glob("Provider/*/*.c"), *ENGINE.glob("System/*.c"), *VECTORS.glob("*.c"), *STEMS.glob("*.c")])
    if platform.has_engine:
        return [ENGINE / "Engine" / "engine.c", *found, *sorted(PROBE.glob("*.c"))]
    return [*found, *(PROBE / f"{name}.c" for name in BARE_PROBE)]


def compile_all(compiler, platform, pool):
    folder = WORK / platform.target
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    flags = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", f"-I{ENGINE / 'include'}"]
    if not platform.has_engine:
        flags += ["-DPROBE_WITHOUT_ENGINE", "-DPROBE_WITHOUT_SYSTEM"]
    if platform.links:
        # The probe's own sources call fork() and more that these systems' headers deny a program.
        chosen = [source for source in sources(platform) if source.is_relative_to(ROOT / "Sources")]
    else:
        chosen = sources(platform)

    def one(source):
        target = folder / ("-".join(source.relative_to(ROOT).with_suffix(".o").parts))
        # A program that runs is optimized, as the kernels that are chosen then are others; but the engine would take minutes.
        level = "-O2" if platform.runner and source.name != "engine.c" else "-O0"
        compiler(platform, *flags, level, "-c", source, "-o", target)
        return target

    return list(pool.map(one, chosen))


def runner_of(platform, work):
    """The command and environment that start a program for the platform, or the reason why it cannot be started."""
    if platform.runner == "self":
        return ([], os.environ) if os.uname().machine == "x86_64" else "this machine is no x86-64"
    if platform.runner == "qemu":
        if os.uname().machine == "aarch64":
            return [], os.environ
        found = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")
        return ([found, "-cpu", "max"], os.environ) if found else "qemu-user is not installed"
    if platform.runner == "wine":
        found = next((p for p in (shutil.which("wine64"), shutil.which("wine"), "/usr/lib/wine/wine64") if p and Path(p).exists()),
                     None)
        environment = {**os.environ, "WINEPREFIX": str(work / "wine"), "WINEDEBUG": "-all", "WINEDLLOVERRIDES": "mscoree=;mshtml="}
        return ([found], environment) if found else "wine is not installed"
    return [sys.executable, "-I", "-B", Path(__file__).parent / "run_wasi.py"], os.environ


def check(compiler, platform, pool, work, is_short):
    """One platform. Returns its line and, if it runs and has the engine, how its probe is started."""
    begun = time.monotonic()
    said = ["compiled" if platform.has_engine else "compiled (crypto provider alone)"]
    started = None
    objects = compile_all(compiler, platform, pool)
    commands = SHORT_COMMANDS if is_short else COMMANDS
    if platform.links:
        said.append(f"not linked ({platform.links})")
    else:
        suffix = {"wine": ".exe", "wasmtime": ".wasm"}.get(platform.runner, "")
        program = WORK / platform.target / f"probe{suffix}"
        compiler(platform, *objects, *platform.libraries, "-o", program)
        said.append("linked")
    if platform.not_run:
        said.append(f"not run ({platform.not_run})")
    else:
        how = runner_of(platform, work)
        if isinstance(how, str):
            said.append(f"not run ({how})")
        else:
            command, environment = how
            start = lambda *arguments: run([*command, program, *arguments], timeout=600, env=environment)  # noqa: E731
            for name in commands:
                output = start(name)
                if "WRONG" in output:
                    raise Failure(f"{platform.name}: {name}: {output}")
            said += ["run", "tested: " + ", ".join(commands)]
            if platform.has_engine:
                started = start
    return f"{platform.name}: {'; '.join(said)} ({time.monotonic() - begun:.0f} s)", started


def exchange(probes, work, pool):
    """Files of every page size, HMAC and derivation, with a log or a hot journal, written by each and read by all."""
    native = ROOT / ".build" / "debug" / "ProviderProbe"
    if native.exists():
        probes = {**probes, "this machine's build": lambda *arguments: run([native, *arguments], timeout=600)}
    names = list(probes)
    folders = {name: work / f"files-{number}" for number, name in enumerate(names)}

    def write(name):
        folders[name].mkdir()
        probes[name]("exchange-write", folders[name])

    def read(pair):
        writer, reader = pair
        # Whoever reads first rolls the hot journals back.
        folder = work / f"files-{names.index(writer)}-{names.index(reader)}"
        shutil.copytree(folders[writer], folder)
        probes[reader]("exchange-check", folder)
        return f"files written by {writer}, read by {reader}: {len(list(folder.glob('*.db')))}"

    list(pool.map(write, names))
    pairs = [(writer, reader) for writer in names for reader in names if writer != reader or len(names) == 1]
    for line in pool.map(read, pairs):
        print(line, flush=True)


def main(arguments):
    if "--table" in arguments:
        print(table())
        return 0
    is_short = "--short" in arguments
    names = [a for a in arguments if a != "--short"]
    if unknown := [n for n in names if not any(p.name.startswith(n) for p in PLATFORMS)]:
        print(f"check-platforms: no platform begins with '{unknown[0]}'; there are: {'; '.join(p.name for p in PLATFORMS)}",
              file=sys.stderr)
        return 2
    chosen = [p for p in PLATFORMS if (not is_short or p.short) and (not names or any(p.name.startswith(n) for n in names))]
    WORK.mkdir(parents=True, exist_ok=True)
    compiler = Compiler()
    failed, probes = [], {}
    # Two platforms at a time: while one links or runs, which takes one processor, the other compiles.
    with tempfile.TemporaryDirectory() as temporary, ThreadPoolExecutor(os.cpu_count()) as pool, ThreadPoolExecutor(2) as two:
        work = Path(temporary)

        def attempt(platform):
            try:
                return check(compiler, platform, pool, work, is_short)
            except Failure as error:
                failed.append(platform.name)
                return f"{platform.name}: FAILED: {error}", None

        for platform, (line, started) in zip(chosen, two.map(attempt, chosen)):
            print(line, flush=True)
            if started:
                probes[platform.name] = started
        if probes and not is_short:
            try:
                exchange(probes, work, pool)
            except Failure as error:
                print(f"files exchanged: FAILED: {error}", flush=True)
                failed.append("exchange")
    if not names:
        print("Swift for Apple's platforms is neither compiled nor linked here: it needs a Mac (.github/workflows/platforms.yml)")
        import apple_security
        import c_names
        failed += c_names.check(compiler.headers)
        failed += apple_security.check()
    print(f"check-platforms: {'failed: ' + ', '.join(failed) if failed else 'nothing found'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    sys.exit(main(sys.argv[1:]))
