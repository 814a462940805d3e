"""Makes the documents that scripts/bench search measures with: cut from the documentation of installed packages, and generated.

The same packages, number and seed give the same bytes. Nothing of it is committed. Each line of the file that is made is a
document: row id, title, body, date, tags (a JSON array), with tabs between them."""

import ast
import gzip
import json
import random
import re
from html import unescape
from pathlib import Path

import search_texts

SEED = 20_240_229
# Of the documents, how many in a hundred are cut from packages, as far as there are that many, and are in each other language.
REAL_PERCENT = 75
LANGUAGE_PERCENT = 1
# Packages whose docstrings are read.
PACKAGES = ["django", "networkx", "sympy"]
# A document has at least and at most as many words.
SHORTEST, LONGEST = 12, 120

MARKUP = re.compile(r"<[^>]+>")
SENTENCE_END = re.compile(r"(?<=[.!?:]) ")
WORD = re.compile(r"[^\W_]+")
NAME_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def words(text):
    """The words of a text as FTS5's unicode61 takes them, diacritics aside."""
    return WORD.findall(text.lower())


def plain(text):
    """Without markup, and each run of white space as one blank."""
    return " ".join(unescape(MARKUP.sub(" ", text)).split())


def spoken(name):
    """An identifier as words: `createDBCluster` as `create db cluster`."""
    return " ".join(NAME_PART.findall(name)).lower()


def pieces(text):
    """A text in parts of whole sentences, none longer than a document."""
    part, count = [], 0
    for sentence in SENTENCE_END.split(plain(text)):
        length = len(sentence.split())
        if part and count + length > LONGEST:
            yield " ".join(part)
            part, count = [], 0
        part.append(sentence)
        count += length
    yield " ".join(part)


# --- What packages ship -----------------------------------------------------------------------------------------------


def of_botocore(folder):
    """Titles, texts and tags of the services that botocore describes."""
    for file in sorted(folder.glob("*/*/service-2.json.gz")):
        service = json.loads(gzip.decompress(file.read_bytes()))
        name = service["metadata"].get("serviceId", file.parent.parent.name)
        tags = ["service", name.lower()]
        for operation, entry in service.get("operations", {}).items():
            yield f"{name} {spoken(operation)}", entry.get("documentation", ""), [*tags, "operation"]
        for shape, entry in service.get("shapes", {}).items():
            yield f"{name} {spoken(shape)}", entry.get("documentation", ""), [*tags, "type"]
            for member, part in entry.get("members", {}).items():
                yield f"{spoken(shape)} {spoken(member)}", part.get("documentation", ""), [*tags, "member"]


def of_discovery(folder):
    """The same of the interfaces that google-api-python-client describes."""

    def inside(value, name, tags):
        if isinstance(value, list):
            for part in value:
                yield from inside(part, name, tags)
        elif isinstance(value, dict):
            if isinstance(value.get("description"), str):
                yield name, value["description"], tags
            for key, part in value.items():
                if isinstance(part, (dict, list)):
                    own = name if key in ("properties", "parameters", "methods", "resources", "items") else (
                        f"{' '.join(name.split()[-4:])} {spoken(key)}")
                    yield from inside(part, own, tags)

    for file in sorted(folder.glob("*.json")):
        interface = json.loads(file.read_text())
        tags = ["interface", interface.get("name", file.stem)]
        for part, kind in (("schemas", "type"), ("resources", "operation")):
            yield from inside(interface.get(part, {}), interface.get("title", ""), [*tags, kind])


def of_docstrings(folder):
    """The same of a Python package's docstrings."""
    for file in sorted(folder.rglob("*.py")):
        try:
            tree = ast.parse(file.read_text(encoding="utf-8"))
        except (SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                name = spoken(getattr(node, "name", file.stem))
                tags = [folder.name, "python", "function" if isinstance(node, ast.FunctionDef) else "type"]
                yield f"{folder.name} {name}", ast.get_docstring(node) or "", tags


def shipped(folder):
    """Everything that the packages in a folder ship."""
    for path in sorted(path for path in folder.iterdir() if path.is_dir()):
        if path.name == "botocore":
            yield from of_botocore(path / "data")
        elif path.name == "googleapiclient":
            yield from of_discovery(path / "discovery_cache" / "documents")
        elif path.name in PACKAGES:
            yield from of_docstrings(path)



def real_documents(folder):
    """Titles, bodies and tags, each body once."""
    seen = set()
    for title, text, tags in shipped(folder):
        for body in pieces(text):
            if body not in seen and len(body.split()) >= SHORTEST:
                seen.add(body)
                yield plain(title)[:100], body, tags


# --- What is generated ------------------------------------------------------------------------------------------------


def generated(count, samples, choice):
    """Texts of a Markov chain over the samples' words: a word follows another as often as it does there."""
    follows = {}
    starts = []
    for _, body, _ in samples:
        last = None
        for word in body.split():
            (starts if last is None else follows.setdefault(last, [])).append(word)
            last = word
    for _ in range(count):
        length = choice.randint(SHORTEST, 70)
        text = [choice.choice(starts)]
        while len(text) < length:
            following = follows.get(text[-1]) or starts
            text.append(following[int(choice.random() * len(following))])
        at = int(choice.random() * (length - 4))
        yield " ".join(text[at:at + 4]), " ".join(text), ["generated", f"group {choice.randint(1, 40)}"]


def documents(folder, count, seed=SEED):
    """Exactly `count` documents in no order: title, body, tags. A document of another language has it as its first tag."""
    choice = random.Random(seed)
    made = []
    for language in search_texts.LANGUAGES:
        made += search_texts.documents(language, min(1_000, max(40, count * LANGUAGE_PERCENT // 100)), choice)
    real = list(real_documents(folder))
    choice.shuffle(real)
    made += real[:min(count * REAL_PERCENT // 100, count - len(made))]
    made += generated(count - len(made), real[:20_000], choice)
    choice.shuffle(made)
    return made


def write(path, made, seed=SEED):
    """Writes documents as lines, with dates of ten years."""
    choice = random.Random(seed + 1)
    with open(path, "w", encoding="utf-8") as file:
        for row, (title, body, tags) in enumerate(made, 1):
            date = f"{choice.randint(2015, 2024)}-{choice.randint(1, 12):02}-{choice.randint(1, 28):02}"
            file.write(f"{row}\t{title}\t{body}\t{date}\t{json.dumps(tags, ensure_ascii=False)}\n")


def read(path):
    """Row ids, titles, bodies and tags."""
    with open(path, encoding="utf-8", newline="\n") as file:
        for line in file:
            row, title, body, _, tags = line.rstrip("\n").split("\t")
            yield int(row), title, body, tags
