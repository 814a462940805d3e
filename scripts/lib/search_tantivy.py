"""Full-text search with Tantivy, as its users write it: what scripts/bench search shows beside this package's search.

Run in the script's own environment. Arguments and commands are those of Tests/Benchmarks/Sources/BenchFTS5/main.c, with a third
argument: `default` for the words as they are, `en_stem` for English stems. Queries are what a user types: each word is wanted, in
the title or in the body; with `typed` the last one may go on, and words of four letters may have one typo, of eight two."""

import json
import os
import sys
import time
from pathlib import Path

import tantivy
from tantivy import FieldType, Filter, Occur, Query, Tokenizer

FIELDS = ("title", "body")
# The clock that times searches; BenchFTS5/main.c says why there are two.
clock = time.thread_time_ns if "BENCH_THREAD_TIME" in os.environ else time.perf_counter_ns


class Engine:
    def __init__(self, documents, folder, analyzer):
        self.documents = documents
        self.folder = Path(folder)
        self.folder.mkdir(exist_ok=True)
        builder = tantivy.SchemaBuilder()
        builder.add_integer_field("id", stored=True, indexed=True, fast=True)
        for field in FIELDS:
            builder.add_text_field(field, stored=True, tokenizer_name=analyzer)
        builder.add_text_field("date", stored=True, tokenizer_name="raw")
        builder.add_text_field("tags", stored=True, fast=True, tokenizer_name="raw")
        self.schema = builder.build()
        # Queries are taken apart as the index takes texts apart.
        words = tantivy.TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.remove_long(40)).filter(Filter.lowercase())
        self.words = (words.filter(Filter.stemmer("English")) if analyzer == "en_stem" else words).build()
        self.open()

    def open(self):
        start = time.perf_counter_ns()
        self.index = tantivy.Index(self.schema, path=str(self.folder))
        self.searcher = self.index.searcher()
        return time.perf_counter_ns() - start

    def add(self, path):
        """One thread, as the others have."""
        writer = self.index.writer(heap_size=256_000_000, num_threads=1)
        with open(path, encoding="utf-8", newline="\n") as file:
            lines = [line.rstrip("\n").split("\t") for line in file]
        start = time.perf_counter_ns()
        for row, title, body, date, tags in lines:
            writer.add_document(tantivy.Document(id=int(row), title=title, body=body, date=date, tags=json.loads(tags)))
        writer.commit()
        took = time.perf_counter_ns() - start
        writer.wait_merging_threads()
        self.index.reload()
        self.searcher = self.index.searcher()
        return took

    def build(self):
        took = self.add(self.documents)
        size = sum(file.stat().st_size for file in self.folder.iterdir())
        # The documents are part of the index's files; what is more than they is the index.
        return f"{took} {size} {size}"

    def word(self, word, is_open, is_typed):
        parts = []
        for field in FIELDS:
            parts.append(Query.term_query(self.schema, field, word))
            if is_typed and is_open:
                parts.append(Query.fuzzy_term_query(self.schema, field, word, distance=0, prefix=True))
            if is_typed and len(word) >= 4:
                parts.append(Query.fuzzy_term_query(self.schema, field, word, distance=1 if len(word) < 8 else 2))
        return Query.boolean_query([(Occur.Should, part) for part in parts])

    def query(self, text, is_typed):
        words = self.words.analyze(text)
        is_open = not text.endswith(" ")
        return Query.boolean_query([
            (Occur.Must, self.word(word, is_open and place == len(words) - 1, is_typed)) for place, word in enumerate(words)])

    def hits(self, text, is_typed, lowest=0, offset=0):
        query = self.query(text, is_typed)
        if lowest:
            newest = Query.range_query(self.schema, "id", FieldType.Integer, lowest, 1 << 60)
            query = Query.boolean_query([(Occur.Must, query), (Occur.Must, newest)])
        found = self.searcher.search(query, 20, count=False, offset=offset).hits
        snippets = tantivy.SnippetGenerator.create(self.searcher, query, self.schema, "body") if found else None
        rows = []
        for _, address in found:
            document = self.searcher.doc(address)
            snippets.snippet_from_doc(document).fragment()
            rows.append(document.get_first("id"))
        return rows

    def newest(self, text, _):
        return self.hits(text, False, lowest=self.searcher.num_docs * 99 // 100)

    def pages(self, text, _):
        return [row for page in range(50) for row in self.hits(text, False, offset=20 * page)]

    def facets(self, text, _):
        counted = self.searcher.aggregate(self.query(text, False), {"tags": {"terms": {"field": "tags", "size": 10}}})
        return [int(bucket["doc_count"]) for bucket in counted["tags"]["buckets"]]


def main():
    engine = Engine(*sys.argv[1:])
    for line in sys.stdin:
        command, _, path = line.rstrip("\n").partition(" ")
        if command == "build":
            print(engine.build())
        elif command == "open":
            print(engine.open())
        elif command == "insert":
            print(engine.add(path))
        elif command in ("search", "typed", "newest", "pages", "facets"):
            answer = {"newest": engine.newest, "pages": engine.pages, "facets": engine.facets}.get(command, engine.hits)
            for text in Path(path).read_text(encoding="utf-8").split("\n")[:-1]:
                start = clock()
                rows = answer(text, command == "typed")
                print(clock() - start, ",".join(map(str, rows)), sep="\t")
            print(".")
        else:
            print("-")
        sys.stdout.flush()


main()
