"""Makes queries with known answers from a corpus, by rules, for scripts/bench search.

A query's targets are the documents that a rule makes right; there are one to five. No rule looks at what an engine finds."""

import json
import random
import re
from collections import Counter
from itertools import islice

import search_corpus
import search_texts

SEED = 20_240_301
# Queries whose rivals have all words too, so that the order is judged; and, as a counterweight, phrases of bodies.
ORDER = {
    "title": "two or three words that stand side by side in the targets' titles; at least five other documents have all of them",
    "title-typo": "the same with one letter inserted, deleted, replaced or swapped with the next, in a word of five or more",
    "title-letters": "the same typed letter by letter; each keystroke from the third letter on is a query",
    "title-forms": "the same with a word in another form; targets are all titles with a form of each word side by side; at least "
                   "three other documents have all words as they are typed",
    "title-extra": "the same and one word more, in any order; no document has all; targets are all titles with all but one of the "
                   "words side by side, in any order",
    "title-joined": "two words that stand side by side in the targets, typed as one that no document has",
    "title-order": "two words of the targets' titles, in any order; at least five other documents have both, but not in a title",
    "title-word": "a word that is the targets' whole title; at least five other documents have it",
    "identifier": "a version or an identifier as the targets have it; at least five other documents have all its parts",
    "phrase": "three or four words that stand side by side in the targets' bodies; at least five other documents have all of them",
}
ENGLISH = {
    "known": "two or three words that only the targets have together",
    "typo": "the same with one letter inserted, deleted, replaced or swapped with the next, anywhere in a word",
    "letters": "the same typed letter by letter; each keystroke from the third letter on is a query",
    "forms": "words in another form than the targets have: plural, singular, -s, -ing, -ed; no other document has words with "
             "the same beginnings",
    "extra": "known words and one that the targets lack",
}
NAMES = {"ja": "Japanese", "zh": "Chinese", "ko": "Korean", "de": "German", "ru": "Russian", "ar": "Arabic", "hi": "Hindi"}
CLASSES = {**ORDER, **ENGLISH, **{language: f"two or three parts of texts in {name}" for language, name in NAMES.items()}}
PER_CLASS = {"title": 100, "title-typo": 100, "title-letters": 60, "title-forms": 60, "title-extra": 60, "title-joined": 40,
             "title-order": 80, "title-word": 80, "identifier": 80, "phrase": 100,
             "known": 100, "typo": 100, "letters": 100, "forms": 60, "extra": 60}
PER_LANGUAGE = 15
# `1.2.3`, `knowledge_base`, `os.path`
IDENTIFIER = re.compile(r"(?<![\w.])(?:\d+(?:\.\d+)+|[a-z]\w*(?:[._][a-z]\w*)+)(?!\w|\.\w)")
ALPHABET = "abcdefghijklmnopqrstuvwxyz"


class Index:
    """Which documents have a word, for the words that matter, and how many have each word."""

    def __init__(self, path, chosen_documents, choice):
        self.count = 0
        self.frequency = Counter()
        self.other = []
        for _, title, body, tags in search_corpus.read(path):
            self.count += 1
            language = json.loads(tags)[0]
            if language in search_texts.LANGUAGES:
                self.other.append(language)
            self.frequency.update(set(search_corpus.words(f"{title} {body}")))
        at = set(choice.sample(range(1, self.count + 1), min(chosen_documents, self.count)))
        self.words = {}
        wanted = set()
        for row, title, body, tags in search_corpus.read(path):
            tag = json.loads(tags)[0]
            if row in at and tag not in search_texts.LANGUAGES and tag != "generated":
                self.words[row] = [word for word in dict.fromkeys(search_corpus.words(f"{title} {body}")) if self.is_usable(word)]
                for word in self.words[row]:
                    wanted.add(word)
                    wanted.update(self.forms(word))
        self.rows = {}
        self.count_in(path, wanted)

    def count_in(self, path, words):
        """Reads the corpus for the documents that have these words."""
        missing = words - self.rows.keys()
        self.rows.update((word, set()) for word in missing)
        for row, title, body, _ in search_corpus.read(path) if missing else ():
            for word in missing.intersection(search_corpus.words(f"{title} {body}")):
                self.rows[word].add(row)

    def is_usable(self, word):
        """Neither a name of one document nor a word of every tenth, and typed with an English keyboard."""
        return 4 <= len(word) <= 14 and word.isascii() and word.isalpha() and 3 <= self.frequency[word] <= max(20, self.count // 50)

    def forms(self, word):
        """Other forms of an English word, by rule, that texts have too."""
        stems = {word}
        for ending, others in (("ies", ["y"]), ("es", ["", "e"]), ("s", [""]), ("ing", ["", "e"]), ("ed", ["", "e"])):
            if word.endswith(ending) and len(word) - len(ending) >= 3:
                stem = word[:-len(ending)]
                stems.update(stem + other for other in others)
                if ending in ("ing", "ed") and stem[-1] == stem[-2]:
                    stems.add(stem[:-1])
        found = set(stems)
        for stem in stems:
            found.update((stem + "s", stem + "es", stem + "ing", stem + "ed"))
            if stem.endswith("e"):
                found.update((stem[:-1] + "ing", stem + "d"))
            if stem.endswith("y"):
                found.update((stem[:-1] + "ies", stem[:-1] + "ied"))
        # A word that ends in two s, or in a vowel before the ending, is another word more often than a form.
        return sorted(other for other in found if other != word and self.frequency[other] >= 3 and other.isalpha()
                      and not other.endswith("sss") and not word.endswith("ss") and not other.endswith("ss")
                      and (other in stems or any(other.startswith(stem[:-1]) for stem in stems)))

    def having(self, words):
        """The documents that have all of the words."""
        return set.intersection(*(self.rows[word] for word in words))


def near(word, other):
    """True if one edit makes one word of the other, neighbours swapped included."""
    if len(word) > len(other):
        word, other = other, word
    if len(other) - len(word) > 1 or word == other:
        return word == other
    at = 0
    while at < len(word) and word[at] == other[at]:
        at += 1
    if len(word) < len(other):
        return word[at:] == other[at + 1:]
    return word[at + 1:] == other[at + 1:] or (
        word[at:at + 2] == other[at:at + 2][::-1] and word[at + 2:] == other[at + 2:])


def mistyped(word, choice):
    """The word with one edit."""
    at = choice.randrange(len(word))
    kind = choice.choice(["insert", "delete", "replace", "swap"])
    letter = choice.choice(ALPHABET)
    if kind == "insert":
        return word[:at] + letter + word[at:]
    if kind == "delete":
        return word[:at] + word[at + 1:]
    if kind == "replace":
        return word[:at] + letter + word[at + 1:]
    at = min(at, len(word) - 2)
    return word[:at] + word[at + 1] + word[at] + word[at + 2:]


class Rules:
    def __init__(self, path, seed=SEED, scale=1):
        self.choice = random.Random(seed)
        self.scale = scale
        self.path = path
        self.index = Index(path, 4_000, self.choice)
        self.vocabulary = sorted(word for word in self.index.frequency if 3 <= len(word) <= 16)

    def known(self):
        """Endless words and targets."""
        index, choice = self.index, self.choice
        rows = sorted(row for row, words in index.words.items() if len(words) >= 3)
        # A corpus that is too small for a rule ends it, rather than be looked through for ever.
        for _ in range(500_000 if rows else 0):
            words = choice.sample(index.words[choice.choice(rows)], choice.choice([2, 3]))
            # A form of a word that is in the query already adds nothing.
            if any(set(index.forms(word)) & set(words) for word in words):
                continue
            targets = index.having(words)
            if len(targets) <= 5:
                yield words, targets

    def typo(self):
        """One word is mistyped to something that no text has, and what is within one edit of it gives no other targets."""
        index, choice = self.index, self.choice
        made = []
        for words, targets in islice(self.known(), PER_CLASS["typo"] * 4 // self.scale):
            at = choice.randrange(len(words))
            wrong = mistyped(words[at], choice)
            if len(words[at]) >= 5 and wrong != words[at] and not index.frequency[wrong]:
                meant = [word for word in self.vocabulary if near(wrong, word) and word != words[at]]
                made.append((words, at, wrong, meant, targets))
        index.count_in(self.path, {word for _, _, _, meant, _ in made for word in meant})
        for words, at, wrong, meant, targets in made:
            rest = index.having(words[:at] + words[at + 1:])
            if not any(index.rows[word] & rest for word in meant):
                yield words[:at] + [wrong] + words[at + 1:], targets

    def forms(self):
        """One or two words in a form that the targets do not have; whatever has a form of each word is a target, and no other
        document has a word that begins like each of them."""
        index, choice = self.index, self.choice
        made = []
        for words, targets in islice(self.known(), PER_CLASS["forms"] * 40 // self.scale):
            changed = list(words)
            for at in choice.sample(range(len(words)), choice.choice([1, 2])):
                others = [form for form in index.forms(words[at]) if not index.rows[form] & targets]
                if others:
                    changed[at] = choice.choice(others)
            if changed == words or index.having(changed):
                continue
            right = set.intersection(*(
                set.union(index.rows[word], *(index.rows[form] for form in index.forms(word))) for word in words))
            if targets <= right and len(right) <= 5:
                made.append((changed, right))
        # `consumer` is no form of `consumed` by these rules, but to a stemmer it is.
        alike = {word: self.alike(word) for changed, _ in made for word in changed}
        index.count_in(self.path, set().union(*alike.values()) if alike else set())
        for changed, right in made:
            if set.intersection(*(set().union(*(index.rows[other] for other in alike[word])) for word in changed)) <= right:
                yield changed, right

    def alike(self, word):
        """Words that share the beginning of a word and its forms."""
        beginning = min((word, *self.index.forms(word)), key=len)
        beginning = beginning[:-1] if len(beginning) > 4 and beginning[-1] in "ey" else beginning
        return {word, *self.index.forms(word), *(other for other in self.vocabulary if other.startswith(beginning))}

    def extra(self):
        """No document has all words, and few have all but one."""
        index, choice = self.index, self.choice
        others = sorted(index.words)
        for words, targets in self.known():
            if len(words) < 3:
                continue
            more = choice.choice(index.words[choice.choice(others)] or [None])
            if more is None or more in words:
                continue
            query = words + [more]
            choice.shuffle(query)
            if index.having(query):
                continue
            rivals = set.union(*(index.having([word for word in query if word != left_out]) for left_out in query))
            if targets <= rivals and len(rivals) <= 5:
                yield query, targets

    # MARK: Rivals with all words

    def runs(self, column, lengths, count):
        """Words that stand side by side in a title (0) or a body (1); the documents with these side by side there, or anywhere for
        a body; all documents that have them; and those with these side by side anywhere."""
        index, choice = self.index, self.choice
        limit = min(index.count // 12, 20_000)

        def is_usable(word):
            return 3 <= len(word) <= 14 and word.isascii() and word.isalpha() and 8 <= index.frequency[word] <= limit

        chosen, texts = [], {}
        for row, title, body, _ in search_corpus.read(self.path):
            if row in index.words:
                texts[row] = search_corpus.words((title, body)[column])
        rows = sorted(texts)
        for _ in range(count * 200):
            words, length = texts[choice.choice(rows)], choice.choice(lengths)
            if len(words) < length:
                continue
            at = choice.randrange(len(words) - length + 1)
            run = words[at:at + length]
            if len(set(run)) == length and all(map(is_usable, run)):
                chosen.append(run)
            if len(chosen) == count:
                break
        index.count_in(self.path, {word for run in chosen for word in run})
        kept = [(run, having) for run in chosen for having in [index.having(run)] if 6 <= len(having) <= 3_000]
        wanted = set().union(*(having for _, having in kept)) if kept else set()
        read = {row: (f" {' '.join(search_corpus.words(title))} ", f" {' '.join(search_corpus.words(body))} ")
                for row, title, body, _ in search_corpus.read(self.path) if row in wanted}
        for run, having in kept:
            joined = f" {' '.join(run)} "
            anywhere = {row for row in having if joined in read[row][0] or joined in read[row][1]}
            targets = anywhere if column == 1 else {row for row in having if joined in read[row][0]}
            if 1 <= len(targets) <= 5 and len(having) - len(targets) >= 5:
                yield run, targets, having, anywhere

    def title(self):
        for run, targets, _, _ in self.runs(0, [2, 2, 3], PER_CLASS["title"] * 12 // self.scale):
            yield run, targets

    def phrase(self):
        for run, targets, _, _ in self.runs(1, [3, 4], PER_CLASS["phrase"] * 12 // self.scale):
            yield run, targets

    def title_typo(self):
        index, choice = self.index, self.choice
        for run, targets, _, _ in self.runs(0, [2, 2, 3], PER_CLASS["title-typo"] * 12 // self.scale):
            places = [at for at, word in enumerate(run) if len(word) >= 5]
            if not places:
                continue
            at = choice.choice(places)
            wrong = mistyped(run[at], choice)
            # The only word within one edit of it is the word itself, so that nothing else can have been meant.
            if wrong != run[at] and not index.frequency[wrong] and not any(
                    near(wrong, word) and word != run[at] for word in self.vocabulary):
                yield run[:at] + [wrong] + run[at + 1:], targets

    def title_forms(self):
        index, choice = self.index, self.choice
        made = []
        for run, targets, _, _ in self.runs(0, [2, 2, 3], PER_CLASS["title-forms"] * 20 // self.scale):
            at = choice.randrange(len(run))
            others = [form for form in index.forms(run[at]) if form not in run]
            if others:
                made.append((run, at, choice.choice(others), targets))
        changed = [(run[:at] + [form] + run[at + 1:], targets) for run, at, form, targets in made]
        forms = {word: {word, *index.forms(word)} for words, _ in changed for word in words}
        index.count_in(self.path, set().union(*forms.values()) if forms else set())
        having = {word: set().union(*(index.rows[form] for form in forms[word])) for word in forms}
        alike = [set.intersection(*(having[word] for word in words)) for words, _ in changed]
        wanted = set().union(*alike) if alike else set()
        titles = {row: search_corpus.words(title) for row, title, _, _ in search_corpus.read(self.path) if row in wanted}

        def has_side_by_side(row, words):
            return any(all(typed in forms[word] for typed, word in zip(titles[row][start:], words))
                       for start in range(len(titles[row]) - len(words) + 1))

        for (words, targets), rows in zip(changed, alike):
            right = targets | {row for row in rows if has_side_by_side(row, words)}
            rivals = index.having(words)
            if len(right) <= 5 and len(rivals - right) >= 3 and not rivals & targets:
                yield words, right

    def title_extra(self):
        """The words are shuffled, so which of them is too many, and in which order the others were, cannot be told from the query:
        every title with all but one of them side by side, in any order, is a target."""
        index, choice = self.index, self.choice
        others = sorted(index.words)
        made = []
        for run, targets, having, _ in self.runs(0, [2, 3, 3], PER_CLASS["title-extra"] * 24 // self.scale):
            more = choice.choice(index.words[choice.choice(others)] or [None])
            if more is not None and more not in run and not index.rows[more] & having:
                query = [*run, more]
                choice.shuffle(query)
                parts = [[word for word in query if word != left_out] for left_out in query]
                made.append((query, targets, parts, [index.having(part) for part in parts]))
        wanted = set().union(*(rows for _, _, _, found in made for rows in found)) if made else set()
        titles = {row: search_corpus.words(title) for row, title, _, _ in search_corpus.read(self.path) if row in wanted}
        for query, targets, parts, found in made:
            right = targets.union(*(
                {row for row in rows
                 if any(sorted(titles[row][at:at + len(part)]) == sorted(part) for at in range(len(titles[row])))}
                for part, rows in zip(parts, found)))
            if len(right) <= 5:
                yield query, right

    def title_joined(self):
        index = self.index
        for run, _, _, anywhere in self.runs(0, [2], PER_CLASS["title-joined"] * 20 // self.scale):
            if len(anywhere) <= 5 and not index.frequency["".join(run)]:
                yield ["".join(run)], anywhere

    def titles(self):
        """The words of each title of the documents that queries are made from, those of languages left out."""
        return {row: search_corpus.words(title) for row, title, _, _ in search_corpus.read(self.path) if row in self.index.words}

    def is_title_word(self, word):
        return 3 <= len(word) <= 14 and word.isascii() and word.isalpha() and self.index.frequency[word] <= 20_000

    def title_order(self):
        index, choice = self.index, self.choice
        usable = [words for _, title in sorted(self.titles().items())
                  if len(words := sorted({word for word in title if self.is_title_word(word)})) >= 2]
        made = [choice.sample(choice.choice(usable), 2) for _ in range(PER_CLASS["title-order"] * 12 // self.scale) if usable]
        index.count_in(self.path, {word for pair in made for word in pair})
        having = [index.having(pair) for pair in made]
        wanted = set().union(*having) if having else set()
        titles = {row: set(search_corpus.words(title)) for row, title, _, _ in search_corpus.read(self.path) if row in wanted}
        for pair, rows in zip(made, having):
            targets = {row for row in rows if titles[row].issuperset(pair)}
            if 1 <= len(targets) <= 5 and len(rows - targets) >= 5:
                yield pair, targets

    def title_word(self):
        index = self.index
        whole = {}
        for row, title, _, _ in search_corpus.read(self.path):
            if len(words := search_corpus.words(title)) == 1 and self.is_title_word(words[0]):
                whole.setdefault(words[0], set()).add(row)
        index.count_in(self.path, set(whole))
        for word in self.choice.sample(sorted(whole), len(whole)):
            if len(whole[word]) <= 5 and len(index.rows[word] - whole[word]) >= 5:
                yield [word], whole[word]

    def identifier(self):
        index, choice = self.index, self.choice
        found = {name for row, title, body, _ in search_corpus.read(self.path) if row in index.words
                 for name in IDENTIFIER.findall(f"{title} {body}".lower())}
        made = choice.sample(sorted(found), min(len(found), PER_CLASS["identifier"] * 20 // self.scale))
        index.count_in(self.path, {part for name in made for part in search_corpus.words(name)})
        having = {name: index.having(search_corpus.words(name)) for name in made}
        wanted = set().union(*having.values()) if having else set()
        texts = {row: f"{title} {body}".lower() for row, title, body, _ in search_corpus.read(self.path) if row in wanted}
        for name in made:
            # A longer one, `os.path.join`, has it too.
            targets = {row for row in having[name] if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", texts[row])}
            if 1 <= len(targets) <= 5 and len(having[name] - targets) >= 5:
                yield [name], targets

    def language(self, language):
        """Targets are the texts of that language that have all parts: words from their beginnings, where there are spaces."""
        begins = "" if language in ("ja", "zh") else r"(?<!\w)"
        texts = [(row, search_texts.bare(f"{title} {body}", language).lower())
                 for row, title, body, tags in search_corpus.read(self.path) if json.loads(tags)[0] == language]
        for query, parts in search_texts.queries(language, self.choice) if texts else ():
            wanted = [search_texts.bare(part, language).lower() for part in parts]
            targets = {row for row, text in texts if all(re.search(begins + re.escape(part), text) for part in wanted)}
            if 1 <= len(targets) <= 5:
                yield [query], targets

    def judged(self):
        """{"class", "query", "targets"} of each query, classes in order."""
        for name in CLASSES:
            if name in NAMES:
                source, count = self.language(name), PER_LANGUAGE
            else:
                rule = name.replace("-", "_").removesuffix("letters").rstrip("_") or "known"
                source, count = getattr(self, rule)(), PER_CLASS[name]
            count = max(1, count // self.scale)
            made = {}
            # Where a corpus is too small for a rule, there are fewer.
            for words, targets in islice(source, count * 40):
                made.setdefault(" ".join(words), sorted(targets))
                if len(made) == count:
                    break
            for text, targets in made.items():
                lengths = range(3, len(text) + 1) if name.endswith("letters") else [len(text)]
                for typed in (text[:length] for length in lengths if text[length - 1] != " "):
                    yield {"class": name, "query": typed, "targets": targets}


def timed(rules):
    """The queries of the workloads that are only timed: {workload: [text, …]}."""
    index, choice = rules.index, rules.choice
    # Words that are as frequent as each other come in an order of their own: a Counter has them as they came.
    ranked = sorted(index.frequency, key=lambda word: (-index.frequency[word], word))[:400]
    common = [word for word in ranked if len(word) > 3 and word.isascii() and word.isalpha()]
    rare = sorted(word for word, rows in index.rows.items() if 3 <= len(rows) <= 20 and len(word) > 3)
    small = rules.scale
    made = {
        "frequent": common[:max(5, 40 // small)],
        "rare": choice.sample(rare, min(len(rare), max(5, 40 // small))),
        "three": [" ".join(choice.sample(common, 3)) for _ in range(max(5, 40 // small))],
    }
    texts = []
    for words, _ in islice(rules.known(), max(2, 20 // small)):
        texts.append([choice.choice(common), *words])
    made["first"] = list(ALPHABET[:max(3, 26 // small)])
    made["typing"] = [text[:length] for words in texts for text in [" ".join(words)] for length in range(1, len(text) + 1)]
    wrong = []
    for words in texts:
        at = max(range(len(words)), key=lambda place: len(words[place]))
        wrong.append(words[:at] + [mistyped(words[at], choice)] + words[at + 1:])
    made["typing-typos"] = [text[:length] for words in wrong for text in [" ".join(words)] for length in range(1, len(text) + 1)]
    long = sorted(word for word in index.rows if len(word) > 4 and index.frequency[word] > 4)
    wrong = [mistyped(word, choice) for word in choice.sample(long, min(len(long), 200))]
    made["correction"] = [word for word in wrong if not index.frequency[word]][:max(5, 60 // small)]
    made["newest"] = made["frequent"]
    made["pages"] = made["frequent"][:max(2, 5 // small)]
    made["facets"] = made["frequent"][:10] + made["rare"][:10]
    return made
