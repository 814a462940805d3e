"""Makes judged queries in a language: documents from help texts, and queries with nouns in another form, last parts of compounds,
and words after an apostrophe. scripts/bench languages runs it with the packages of languages-requirements.txt.

usage: judged_languages.py LANGUAGE PACKAGES FOLDER SEED, where PACKAGES has Debian's packages, unpacked

The forms come from dictionaries that know nothing of stems: Apertium's by lt-proc, simplemma for German, pymorphy3 for Russian."""

import gzip
import json
import random
import re
import subprocess
import sys
from collections import defaultdict
from html import unescape
from pathlib import Path

# Debian's packages with help texts, besides libreoffice-help-LANGUAGE and manpages-LANGUAGE, and Apertium's dictionary.
LANGUAGES = {
    "danish": ("da", ["libreoffice-help-da", "manpages-da"], "apertium-dan-nor/dan-nob"),
    "dutch": ("nl", ["libreoffice-help-nl", "manpages-nl"], "apertium-afr-nld/nld-afr"),
    "french": ("fr", ["libreoffice-help-fr", "manpages-fr"], "apertium-fra-cat/fra-cat"),
    "german": ("de", ["libreoffice-help-de", "manpages-de"], None),
    "italian": ("it", ["libreoffice-help-it", "manpages-it"], "apertium-spa-ita/ita-spa"),
    "norwegian": ("nb", ["debian-edu-doc-nb-no", "manpages-nb"], "apertium-nno-nob/nob-nno"),
    "portuguese": ("pt", ["libreoffice-help-pt", "manpages-pt-br"], "apertium-por-cat/por-cat"),
    "russian": ("ru", ["libreoffice-help-ru", "manpages-ru"], None),
    "spanish": ("es", ["libreoffice-help-es", "manpages-es"], "apertium-spa-ita/spa-ita"),
    "swedish": ("sv", ["libreoffice-help-sv", "manpages-sv"], "apertium-swe-nor/swe-nob"),
}
COMPOUNDS = {"danish", "dutch", "german", "norwegian", "swedish"}
# Letters between the parts of a compound.
LINKS = ("", "s", "n", "e", "es", "en", "er")
# Words that lose their vowel before another word.
ELISIONS = {"french": ["l", "d", "qu"], "italian": ["l", "dell", "all", "nell", "un"]}
WORD = re.compile(r"[^\W\d_]+")
ENGLISH = {"the", "of", "is", "to", "and", "this", "you", "with", "are", "or"}
PER_CLASS, SHORTEST, LONGEST = 150, 12, 100


# --- Documents --------------------------------------------------------------------------------------------------------


def plain(text):
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", text)).split())


def of_pages(folder):
    """Titles and paragraphs of HTML."""
    for file in sorted(folder.rglob("*.html")):
        text = file.read_text("utf-8", "replace")
        title = re.search(r"<title>(.*?)</title>", text, re.S)
        for part in re.findall(r"<(?:p|li|h\d)[^>]*>(.*?)</(?:p|li|h\d)>", text, re.S):
            yield plain(title.group(1)) if title else file.stem, plain(part)


def of_manual(folder):
    """Names and paragraphs of manual pages."""
    for file in sorted(folder.rglob("man/**/*.gz")):
        text = gzip.decompress(file.read_bytes()).decode("utf-8", "replace")
        text = re.sub(r"\\f(?:[A-Z]|\([A-Z]{2})|\\[&%]", "", text).replace(r"\-", "-").replace(r"\(aq", "'").replace(r"\(cq", "'")
        for part in re.split(r"\n\.(?:PP|P|TP|IP|SH|SS|LP)[^\n]*\n", text):
            lines = [line for line in part.split("\n") if not line.startswith((".\\\"", "'\\\"", ".TH"))]
            lines = [re.sub(r"^\.[A-Za-z]+ ?", "", line) for line in lines]
            yield file.name.split(".")[0], plain(" ".join(lines)).replace('"', "")


def documents(folders, choice):
    """Titles and texts of whole paragraphs, each paragraph once, without those that are still in English."""
    made, seen = [], set()
    for folder in folders:
        title, parts = None, []
        for source in (of_pages, of_manual):
            for own, part in source(folder):
                words = part.lower().split()
                if len(words) < 3 or part in seen or sum(word in ENGLISH for word in words) * 8 > len(words):
                    continue
                seen.add(part)
                if own != title or sum(len(each.split()) for each in parts) + len(words) > LONGEST:
                    made.append((title, " ".join(parts)))
                    title, parts = own, []
                parts.append(part)
        made.append((title, " ".join(parts)))
    made = [(title[:100], text) for title, text in made if len(text.split()) >= SHORTEST]
    choice.shuffle(made)
    return made[:20_000]


# --- Nouns ------------------------------------------------------------------------------------------------------------


def nouns(language, dictionary, vocabulary):
    """The basic form of each word that is a noun."""
    if language == "german":
        from simplemma.strategies.dictionaries.dictionary_factory import DefaultDictionaryFactory
        text = lambda word: word.decode() if isinstance(word, bytes) else word  # noqa: E731
        known = [(text(word), text(base)) for word, base in DefaultDictionaryFactory().get_dictionary("de").items()]
        # Without verbs and adjectives that are nouns as well, such as `das Öffnen`: rows with the verb would count as wrong.
        others = {word for pair in known for word in pair if word[:1].islower()}
        return {word.lower(): base.lower() for word, base in known if word[:1].isupper() and word.lower() not in others}
    if language == "russian":
        import pymorphy3
        analyzer = pymorphy3.MorphAnalyzer()
        best = ((word, analyzer.parse(word)[0]) for word in vocabulary)
        return {word: each.normal_form for word, each in best if each.is_known and each.tag.POS == "NOUN"}
    lines = "\n\n".join(f"{word} ¶" for word in sorted(vocabulary))
    output = subprocess.run(["lt-proc", str(dictionary)], input=lines, capture_output=True, text=True, check=True).stdout
    found = {}
    for word, readings in re.findall(r"\^([^/^$]+)/([^$]*)\$", output):
        for reading in readings.split("/"):
            base = re.match(r"([^<*+]+)<n><[^+]*$", reading)
            if base and "#" not in reading:
                found.setdefault(word.lower(), base.group(1).lower())
    return found


class Corpus:
    def __init__(self, language, dictionary, made, choice):
        self.language, self.choice = language, choice
        self.words = {row: set(WORD.findall(f"{title} {text}".lower())) for row, (title, text) in enumerate(made, 1)}
        self.texts = {row: f"{title} {text}".lower() for row, (title, text) in enumerate(made, 1)}
        self.with_word = defaultdict(set)
        for row, words in self.words.items():
            for word in words:
                self.with_word[word].add(row)
        self.base = nouns(language, dictionary, {word for word in self.with_word if len(word) >= 4})
        self.rows, self.forms = defaultdict(set), defaultdict(set)
        for word, rows in self.with_word.items():
            if word in self.base:
                self.rows[self.base[word]] |= rows
                self.forms[self.base[word]].add(word)
        self.order = list(self.words)
        choice.shuffle(self.order)

    def is_usable(self, word):
        rows = len(self.rows[self.base[word]]) if word in self.base else 0
        return 4 <= len(word) <= 16 and len(self.base.get(word, "")) >= 4 and 3 <= rows <= max(20, len(self.words) // 50)

    def usable(self, row):
        return sorted(word for word in self.words[row] if self.is_usable(word))

    def judged(self, rule):
        """Queries of a rule, which gives two words and the rows that are right, or nothing, for a row."""
        found = []
        for row in self.order:
            made = rule(row)
            if made and 1 <= len(made[1]) <= 5:
                words = list(made[0])
                self.choice.shuffle(words)
                found.append({"query": " ".join(words), "targets": sorted(made[1])})
                if len(found) == PER_CLASS:
                    break
        return found

    def other_forms(self, row):
        """Two nouns, each in a form that no right row has."""
        usable = [word for word in self.usable(row) if len(self.forms[self.base[word]]) > 1]
        if len(usable) < 2:
            return None
        bases = [self.base[word] for word in self.choice.sample(usable, 2)]
        if bases[0] == bases[1]:
            return None
        targets = self.rows[bases[0]] & self.rows[bases[1]]
        had = set().union(*(self.words[target] for target in targets))
        typed = [sorted(form for form in self.forms[base] - had if len(form) >= 4) for base in bases]
        return ([self.choice.choice(forms) for forms in typed], targets) if all(typed) else None

    def parts(self, word):
        """The last parts of a compound whose first part is a noun."""
        for at in range(4, len(word) - 3):
            heads = [word[:at - len(link)] for link in LINKS if word[:at].endswith(link)]
            if word[at:] in self.base and any(len(head) >= 3 and head in self.base for head in heads):
                yield word[at:]

    def find_compounds(self):
        self.compounds, self.of_last = {}, defaultdict(set)
        for word, rows in self.with_word.items():
            found = sorted(self.parts(word)) if len(word) >= 9 else []
            if found:
                self.compounds[word] = found
            for part in found:
                self.of_last[self.base[part]] |= rows

    def last_parts(self, row):
        """The last part of a compound, which no right row has as a word, and a noun."""
        compounds = sorted(word for word in self.words[row] if word in self.compounds)
        usable = self.usable(row)
        if not compounds or not usable:
            return None
        compound, other = self.choice.choice(compounds), self.choice.choice(usable)
        part = self.choice.choice(self.compounds[compound])
        targets = (self.of_last[self.base[part]] | self.rows[self.base[part]]) & self.rows[self.base[other]]
        if other in compound or any(part in self.words[target] for target in targets):
            return None
        return [part, other], targets

    def elided(self, row):
        """A noun that a row has after an apostrophe, after another word, and a noun."""
        ways = ELISIONS[self.language]
        found = re.findall(rf"\b({'|'.join(ways)})['’]([^\W\d_]{{4,}})", self.texts[row])
        had, usable = set(found), self.usable(row)
        words = sorted({word for _, word in found if self.is_usable(word)})
        if not words or not usable:
            return None
        word, other = self.choice.choice(words), self.choice.choice(usable)
        typed = [way for way in ways if (way, word) not in had]
        if not typed or self.base[word] == self.base[other]:
            return None
        return [f"{self.choice.choice(typed)}'{word}", other], self.rows[self.base[word]] & self.rows[self.base[other]]


def main(language, packages, folder, seed):
    choice = random.Random(int(seed))
    code, names, dictionary = LANGUAGES[language]
    made = documents([Path(packages) / name for name in names], random.Random(1))
    path = dictionary and Path(packages) / dictionary.split("/")[0] / "usr/share/apertium" / f"{dictionary}.automorf.bin"
    corpus = Corpus(language, path, made, choice)
    judged = {"other forms": corpus.judged(corpus.other_forms)}
    if language in COMPOUNDS:
        corpus.find_compounds()
        judged["last parts"] = corpus.judged(corpus.last_parts)
    if language in ELISIONS:
        judged["elisions"] = corpus.judged(corpus.elided)
    Path(folder).mkdir(parents=True, exist_ok=True)
    with open(Path(folder) / "documents.tsv", "w", encoding="utf-8") as file:
        for row, (title, text) in enumerate(made, 1):
            file.write(f"{row}\t{title}\t{text}\t\t[]\n")
    (Path(folder) / "judged.json").write_text(json.dumps(judged, ensure_ascii=False))


if __name__ == "__main__":
    main(*sys.argv[1:])
