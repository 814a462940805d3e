"""Mutation testing of rooms: changes that their tests do not notice. Run through scripts/workshop/mutate."""

import argparse
import concurrent.futures
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import mutants  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]
LIST = ROOT / "Tests" / "Proofs" / "Survivors.txt"
WORK = ROOT / ".build" / "mutate"
TREE = WORK / "tree"
BUILD = WORK / "build"
PROGRAM = BUILD / "debug" / "SQLCipherKitPackageTests.xctest"
MODEL = BUILD / "debug" / "Model"

HELP = """\
Changes one thing at a time in the source of rooms, a folder of a module of Sources each, and runs the room's tests: an operator,
a condition, a number, an early return, the body of a function; at most one in each function. A change that the tests do not notice
is a survivor. It fails if a survivor is not in Tests/Proofs/Survivors.txt.

All changes are compiled into one copy of the package in .build/mutate, which takes about 15 minutes the first time, and chosen at
run time: each then costs one run of the room's tests.

With --model, programs of the machine `model` take the place of the tests, for a minute with each change, and a room is done at the
first change that they notice. It fails if a room has none: then the model does not look at that room."""

HEAD = """\
# Changes to the source that the tests of the room do not notice, found by scripts/workshop/mutate. This list should become shorter:
# write the test, and remove the line. After a bar: why the change makes no difference that a test could notice.
"""


# The modules that SQLCipherKit re-exports.
MODULES = sorted(re.findall(
    r"^@_exported import (\w+)$", (ROOT / "Sources" / "SQLCipherKit" / "SQLCipherKit.swift").read_text(), re.M))
# A room is a folder of a module: {name: its folder}. Its tests are in folders of the same name.
ROOMS = {path.name: path.relative_to(ROOT) for module in MODULES for path in sorted((ROOT / "Sources" / module).iterdir())
         if path.is_dir()}
TESTS = [path.relative_to(ROOT) for name in (*MODULES, "SQLCipherKit")
         for path in sorted((ROOT / "Tests" / f"{name}Tests").iterdir())
         if path.is_dir()]


class Stop(Exception):
    """An error that is shown to the user in one line."""


def say(text):
    print(f"mutate: {text}", flush=True)


# --- The copy ---------------------------------------------------------------------------------------------------------


def needed_tests(rooms):
    """The rooms whose tests have types that the tests of these rooms use, and so on."""
    texts = {}
    for folder in TESTS:
        text = "\n".join(path.read_text() for path in (ROOT / folder).glob("*.swift"))
        texts[folder.name] = texts.get(folder.name, "") + text
    declared = {room: set(re.findall(r"^(?:final )?(?:struct|class|enum|actor|protocol) (\w+)", text, re.M))
                for room, text in texts.items()}
    needed, added = set(), set(rooms) & set(texts)
    while added:
        room = added.pop()
        needed.add(room)
        words = set(re.findall(r"\w+", texts[room])) - declared[room]
        added |= {other for other, names in declared.items() if words & names} - needed
    return needed


def copy_tree(rooms):
    """Copies the package as it is, without what git ignores, but with the engine's source, and with the tests of these rooms."""
    command = ["git", "ls-files", "-co", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    names = [name for name in listed.decode().split("\0") if name and (ROOT / name).is_file()]
    needed = needed_tests(rooms)
    left_out = tuple(f"{folder}/" for folder in TESTS if folder.name not in needed)
    names = [name for name in names if not name.startswith(left_out)]
    names += [str(path.relative_to(ROOT)) for path in (ROOT / "Vendor" / "sqlcipher").iterdir()]
    for name in names:
        write(TREE / name, manifest() if name == "Package.swift" else (ROOT / name).read_bytes())
    wanted = set(names)
    for path in [*(TREE / "Sources").rglob("*"), *(TREE / "Tests").rglob("*")]:
        if path.is_file() and str(path.relative_to(TREE)) not in wanted:
            path.unlink()


def write(path, data):
    """Writes a file if it differs, so that the build finds only what has changed."""
    if path.exists() and path.read_bytes() == data:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def manifest():
    """The package's manifest without the tests that no room has."""
    text = (ROOT / "Package.swift").read_text()
    text += '\npackage.targets.removeAll { ["CSQLCipherTests", "CLITests", "FuzzTests"].contains($0.name) }\n'
    return text.encode()


# --- Building ---------------------------------------------------------------------------------------------------------


def build(what):
    """Builds the copy. Returns the lines of its errors, as (file, line)."""
    command = ["swift", "build", *what, "--package-path", str(TREE), "--scratch-path", str(BUILD), "-Xcc", "-O1"]
    with open(WORK / "build.log", "w") as log:
        done = subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, check=False)
    if done.returncode == 0:
        return []
    text = (WORK / "build.log").read_text(errors="replace")
    found = re.findall(rf"{re.escape(str(TREE))}/(\S+?):(\d+):\d+: error:", text)
    if not found:
        raise Stop(f"the build failed: see {(WORK / 'build.log').relative_to(ROOT)}")
    return sorted({(file, int(line)) for file, line in found})


class Room:
    def __init__(self, name):
        self.name = name
        self.files = sorted(path.relative_to(ROOT) for path in (ROOT / ROOMS[name]).glob("*.swift"))
        suites = set()
        for folder in TESTS:
            for path in (ROOT / folder).glob("*.swift") if folder.name == name else ():
                suites.update(re.findall(r"@Suite[^\n]*\bstruct (\w+)", path.read_text()))
        self.filter = rf"SQLCipherKit\w*Tests\.({'|'.join(sorted(suites))})/"
        self.has_tests = bool(suites)

    def places(self, generator):
        """(file, place) of one possible change in each function."""
        found = []
        for file in self.files:
            code = mutants.blanked((ROOT / file).read_text())
            found += [(file, place) for place in mutants.one_per_function(list(mutants.candidates(code)), generator)]
        return found


def compile_mutants(chosen, what=("--build-tests",)):
    """Builds the copy with as many of the chosen changes as compile. Returns the mutants by room."""
    for attempt in range(12):
        numbers, made = mutants.counter(), {}
        for room, places in chosen.items():
            made[room] = []
            for file in room.files:
                text = (ROOT / file).read_text()
                text, some = mutants.mutated(text, str(file), [place for name, place in places if name == file], numbers)
                made[room] += some
                write(TREE / file, text.encode())
        everything = [mutant for some in made.values() for mutant in some]
        # Each module has its own copy of what chooses a change.
        for module in MODULES:
            write(TREE / "Sources" / module / "Mutants.swift", mutants.helper(everything).encode())
        say(f"compiling {len(everything)} changes" + (f", attempt {attempt + 1}" if attempt else ""))
        errors = build(what)
        if not errors:
            return made
        wrong = set(errors)
        rejected = {mutant.key for mutant in everything if any((mutant.file, mutant.line + more) in wrong for more in (0, 1, -1))}
        if not rejected:
            raise Stop(f"the copy does not compile: {errors[0][0]}:{errors[0][1]}; see {(WORK / 'build.log').relative_to(ROOT)}")
        keys = {}
        for room, some in made.items():
            ordered = sorted((file, place) for file, place in chosen[room])
            for (file, place), mutant in zip(ordered, sorted(some, key=lambda m: m.number)):
                keys[room, file, place] = mutant.key
        for room in chosen:
            chosen[room] = [(file, place) for file, place in chosen[room] if keys.get((room, file, place)) not in rejected]
    raise Stop("too many of the changes do not compile")


# --- Running ----------------------------------------------------------------------------------------------------------


def run_tests(room, mutant, seconds):
    """Whether the room's tests pass with a mutant, or with none."""
    environment = {**os.environ, "SQLCIPHERKIT_MUTANT": str(mutant.number) if mutant else "-1"}
    process = subprocess.Popen(
        [str(PROGRAM), "--testing-library", "swift-testing", "--filter", room.filter], env=environment, cwd=TREE,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)

    def end():
        # Programs that the tests have started may still run.
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    timer = threading.Timer(seconds, end)
    timer.start()
    passed = False
    with open(WORK / "tests.log", "wb") as log:
        for line in process.stdout:
            log.write(line)
            passed = passed or re.search(rb"Test run with [1-9]\d* test.* passed", line) is not None
            # The first issue is enough.
            if b" recorded an issue" in line:
                break
    if not passed:
        end()
    process.wait()
    timer.cancel()
    end()
    return passed and process.returncode == 0


def run_model(mutant, seed):
    """The finding of programs of the model with a mutant, or with none; None if there is none in a minute."""
    environment = {**os.environ, "SQLCIPHERKIT_MUTANT": str(mutant.number) if mutant else "-1"}
    begun = time.monotonic()
    try:
        done = subprocess.run(
            [str(MODEL), "--first", "--seed", str(seed), "--minutes", "1"], env=environment, cwd=TREE, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False, timeout=180)
    except subprocess.TimeoutExpired:
        return "it hangs"
    if done.returncode == 0:
        return None
    found = next((line for line in done.stdout.splitlines() if line.startswith("FOUND")), f"ended with {done.returncode}")
    return f"{time.monotonic() - begun:.0f} s: {found}"


def judge_by_model(chosen, seed):
    """Runs programs with changes of each room until they notice one. Returns the status."""
    made = compile_mutants(chosen, ("--product", "Model"))
    finding = run_model(None, seed)
    if finding:
        raise Stop(f"the model finds something without a change: {finding}")

    def judge(room):
        for number, mutant in enumerate(made[room]):
            if finding := run_model(mutant, seed):
                say(f"{room.name}: noticed after {number} others, {mutant}\n    {finding[:200]}")
                return 0
        print(f"FOUND the model notices none of {len(made[room])} changes of {room.name}", flush=True)
        return 1

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        unnoticed = sum(workers.map(judge, made))
    say(f"the model notices a change in {len(made) - unnoticed} of {len(made)} rooms, seed {seed}")
    return 1 if unnoticed else 0


def known_survivors():
    """The reasons of the list's lines, by their keys."""
    found = {}
    for line in LIST.read_text(encoding="utf-8").splitlines() if LIST.exists() else []:
        if line and not line.startswith("#"):
            key, _, reason = line.partition(" | ")
            found[key.strip()] = reason.strip()
    return found


def write_survivors(known):
    lines = [key + (f" | {reason}" if reason else "") for key, reason in sorted(known.items())]
    LIST.write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")


def main():
    rooms = sorted(ROOMS)
    parser = argparse.ArgumentParser(
        prog="scripts/workshop/mutate", description=HELP, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("room", nargs="*", metavar="ROOM", help="these rooms only (default: all that have tests)")
    parser.add_argument("--limit", type=int, default=40, metavar="N", help="how many changes in all (default 40)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="which changes are chosen (default 1)")
    parser.add_argument("--update", action="store_true", help="put new survivors on the list, and remove those that were noticed")
    parser.add_argument("--model", action="store_true", help="judge by the machine `model`; --limit is for each room then")
    options = parser.parse_args()
    unknown = [name for name in options.room if name not in rooms]
    if unknown or options.limit < 1:
        parser.error(f"there is no room {unknown[0]}" if unknown else "--limit is 1 or more")
    os.environ["SQLCIPHERKIT_DEVELOPMENT"] = "1"
    subprocess.run([ROOT / "scripts" / "setup", "--tests"], check=True)
    python = subprocess.run([ROOT / "scripts" / "lib" / "test-python"], check=True, stdout=subprocess.PIPE, text=True)
    os.environ["SQLCIPHERKIT_TEST_PYTHON"] = python.stdout.strip()
    generator = random.Random(options.seed)
    if options.model:
        places = {room: room.places(generator) for room in map(Room, options.room or rooms)}
        copy_tree(set())
        return judge_by_model(
            {room: generator.sample(some, min(options.limit, len(some))) for room, some in places.items()}, options.seed)
    everything = [(room, place) for room in map(Room, options.room or rooms) if room.has_tests for place in room.places(generator)]
    chosen = {}
    for room, place in generator.sample(everything, min(options.limit, len(everything))):
        chosen.setdefault(room, []).append(place)
    copy_tree({room.name for room in chosen})
    made = compile_mutants(chosen)
    known, survivors, noticed, count = known_survivors(), [], [], 0
    for room, some in made.items():
        begun = time.monotonic()
        if not run_tests(room, None, 1800):
            raise Stop(f"the tests of {room.name} fail without a change: see {(WORK / 'tests.log').relative_to(ROOT)}")
        limit = 3 * (time.monotonic() - begun) + 60
        for mutant in some:
            (survivors if run_tests(room, mutant, limit) else noticed).append(mutant)
            count += 1
        own = [mutant for mutant in survivors if mutant.file.startswith(f"{ROOMS[room.name]}/")]
        say(f"{room.name}: {len(own)} of {len(some)} changes survive")
        for mutant in own:
            if mutant.key not in known:
                print(f"FOUND survivor {mutant}" if not options.update else f"mutate: new on the list: {mutant}", flush=True)
        if options.update:
            write_survivors({**{mutant.key: "" for mutant in survivors}, **known})
    gone = {mutant.key for mutant in noticed if mutant.key in known} - {mutant.key for mutant in survivors}
    for key in sorted(gone):
        say(f"no longer survives, so take it off the list: {key}")
    fresh = [mutant for mutant in survivors if mutant.key not in known]
    if options.update:
        listed = {**{mutant.key: "" for mutant in fresh}, **known}
        write_survivors({key: reason for key, reason in listed.items() if key not in gone})
        fresh = []
    say(f"{count} changes in {len(made)} rooms, {count - len(survivors)} noticed, {len(survivors)} survive, "
        f"{len(fresh)} of them not on the list, seed {options.seed}")
    return 1 if fresh else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Stop as stop:
        sys.exit(f"mutate: {stop}")
    except KeyboardInterrupt:
        sys.exit(130)
