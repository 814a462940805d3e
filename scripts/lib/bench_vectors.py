"""Makes vectors, builds the program that searches them, runs it beside sqlite-vec and USearch in turn, and shows the figures. Run
through scripts/bench."""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import bench_swift  # noqa: E402
from bench_build import ROOT, Stop, built, command, say  # noqa: E402
from bench_build import WORK as ALL_WORK  # noqa: E402

WORK = ALL_WORK / "vectors"
REQUIREMENTS = ROOT / "scripts" / "lib" / "vectors-requirements.txt"
DIMENSIONS = 384
VARIANTS = {
    "float32": ("float32", "encrypted", "exact"), "float32-plain": ("float32", "plain", "exact"),
    "float32-coarse": ("float32", "encrypted", "coarse"), "int8": ("int8", "encrypted", "exact"),
    "int8-coarse": ("int8", "encrypted", "coarse"), "bits": ("bits", "encrypted", "exact"),
}
PEERS = ["sqlite-vec", "sqlite-vec-int8", "usearch"]
FIGURES = ["build", "cold", "cold clock", "top 10", "filter", "bytes"]

# Vectors as those of texts are: near some of many topics, with parts of several in each.
MAKE = """
import sys, numpy
path, queries, count, dimensions = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
random = numpy.random.default_rng(1)
topics = random.standard_normal((max(50, count // 200), dimensions), dtype=numpy.float32)
def some(count):
    weights = random.dirichlet([0.4] * 4, count).astype(numpy.float32)
    chosen = random.integers(0, len(topics), (count, 4))
    made = sum(weights[:, [i]] * topics[chosen[:, i]] for i in range(4))
    made += 0.35 * random.standard_normal((count, dimensions), dtype=numpy.float32)
    return made / numpy.linalg.norm(made, axis=1, keepdims=True)
with open(path, "wb") as file:
    for start in range(0, count, 50_000):
        file.write(some(min(50_000, count - start)).tobytes())
open(queries, "wb").write(some(50).tobytes())
"""

# One peer in a process of its own, on one thread. The vectors have the length 1, so that L2, which is sqlite-vec's default, and
# cosine give the same order. The hits of numpy are the truth that recall is counted by.
PEER = """
import json, os, sys, time
name, folder, path, queries, dimensions, rounds = *sys.argv[1:5], int(sys.argv[5]), int(sys.argv[6])
import numpy
vectors = numpy.fromfile(path, dtype=numpy.float32).reshape(-1, dimensions)
queries = numpy.fromfile(queries, dtype=numpy.float32).reshape(-1, dimensions)
figures, now, hits = {}, time.process_time, []
def timed(call):
    start = now(); result = call(); return now() - start, result
if name == "numpy":
    hits = [numpy.lexsort((numpy.arange(len(vectors)), -(vectors @ query)))[:10].tolist() for query in queries]
elif name == "usearch":
    from usearch.index import Index
    index = Index(ndim=dimensions, metric="cos", dtype="f32")
    figures["build"] = timed(lambda: index.add(numpy.arange(len(vectors)), vectors, threads=1))[0]
    times = []
    for _ in range(rounds):
        seconds, found = timed(lambda: [index.search(query, 10, threads=1).keys.tolist() for query in queries])
        times.append(seconds / len(queries)); hits = found
    figures["top 10"] = sorted(times)[len(times) // 2]
    index.save(os.path.join(folder, "usearch")); figures["bytes"] = os.path.getsize(os.path.join(folder, "usearch"))
else:
    import apsw, sqlite_vec
    file = os.path.join(folder, "vec.db"); db = apsw.Connection(file)
    db.enable_load_extension(True)
    db.load_extension(sqlite_vec.loadable_path())
    db.execute("PRAGMA journal_mode = WAL; PRAGMA cache_size = -4000000")
    kind, wrap = ("int8", "vec_quantize_int8(?, 'unit')") if name.endswith("int8") else ("float", "?")
    db.execute(f"CREATE VIRTUAL TABLE v USING vec0(v {kind}[{dimensions}], part INTEGER)")
    def build():
        rows = ((i, vectors[i].tobytes(), i % 100) for i in range(len(vectors)))
        with db: db.executemany(f"INSERT INTO v(rowid, v, part) VALUES (?, {wrap}, ?)", rows)
    figures["build"] = timed(build)[0]
    def search(query, condition=""):
        sql = f"SELECT rowid FROM v WHERE v MATCH {wrap} AND k = 10 {condition} ORDER BY distance"
        return [row[0] for row in db.execute(sql, (query.tobytes(),))]
    for figure, condition in (("top 10", ""), ("filter", "AND part = 7")):
        times = []
        for _ in range(rounds):
            seconds, found = timed(lambda: [search(query, condition) for query in queries])
            times.append(seconds / len(queries))
            if not condition: hits = found
        figures[figure] = sorted(times)[len(times) // 2]
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)"); db.close(); figures["bytes"] = os.path.getsize(file)
print(json.dumps({"figures": figures, "hits": hits}))
"""


def python():
    """A Python with the peers, in a folder of the suite's own."""
    folder = WORK / "venv"
    executable = folder / "bin" / "python"
    stamp = folder / "requirements.txt"
    if not stamp.is_file() or stamp.read_text() != REQUIREMENTS.read_text():
        say("installing sqlite-vec, USearch and NumPy")
        command([sys.executable, "-m", "venv", "--clear", str(folder)])
        command([str(executable), "-m", "pip", "install", "--quiet", "--only-binary", ":all:", "-r", str(REQUIREMENTS)])
        stamp.write_text(REQUIREMENTS.read_text())
    return str(executable)


def measured(arguments):
    """What a program printed, with the most memory that it had, in bytes."""
    text = command(["/usr/bin/env", sys.executable, "-c",
                    "import resource, subprocess, sys; r = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, check=True); "
                    "print(r.stdout.decode().strip()); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)",
                    *map(str, arguments)])
    lines = text.strip().splitlines()
    found = json.loads(lines[-2])
    found["figures"]["memory"] = int(lines[-1])
    return found


def shown_as(name, figure):
    if figure is None:
        return "-"
    return f"{figure / 1e6:.1f} MB" if name in ("bytes", "memory") else f"{figure * 1000:.2f}"


def main():
    parser = argparse.ArgumentParser(
        prog="scripts/bench vectors", description="Measures tables of vectors beside sqlite-vec, without encryption, and USearch, "
        "an approximate index in memory. Times are processor times of one thread, in milliseconds; the first run builds the "
        "program in release.")
    parser.add_argument("--rows", type=int, nargs="+", default=[20_000, 100_000], help="how many vectors (default 20000 100000)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of 50 searches each (default 5)")
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS) + PEERS, choices=list(VARIANTS) + PEERS)
    parser.add_argument("--skip-build", action="store_true", help="take the programs of the last build")
    options = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    interpreter = python()
    program = built("vectors", skips=options.skip_build) / "BenchVectors"
    for rows in options.rows:
        with bench_swift.data_folder() as folder:
            vectors, queries = Path(folder) / "vectors", Path(folder) / "queries"
            command([interpreter, "-c", MAKE, vectors, queries, str(rows), str(DIMENSIONS)])
            truth = json.loads(command([interpreter, "-c", PEER, "numpy", folder, vectors, queries, str(DIMENSIONS), "1"]))["hits"]
            print(f"\n{rows:,} vectors of {DIMENSIONS} numbers")
            print(f"{'':18}" + "".join(f"{name:>12}" for name in FIGURES + ["memory", "recall"]))
            for name in options.variants:
                with tempfile.TemporaryDirectory(dir=folder) as own:
                    if name in PEERS:
                        found = measured([interpreter, "-c", PEER, name, own, vectors, queries, DIMENSIONS, options.rounds])
                    else:
                        found = measured([program, own, vectors, queries, DIMENSIONS, *VARIANTS[name], options.rounds])
                figures, hits = found["figures"], found["hits"]
                recall = sum(len(set(hit) & set(wanted)) for hit, wanted in zip(hits, truth)) / (10 * len(truth))
                shown = [shown_as(each, figures.get(each)) for each in FIGURES + ["memory"]]
                print(f"{name:18}" + "".join(f"{each:>12}" for each in shown) + f"{recall:12.3f}", flush=True)


if __name__ == "__main__":
    try:
        main()
    except Stop as stop:
        say(stop)
        sys.exit(1)
    except (subprocess.SubprocessError, KeyboardInterrupt) as error:
        say(error)
        sys.exit(1)
