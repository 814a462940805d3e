"""Prints Sources/CSQLCipher/Engine/word_tables.h: what the multilingual tokenizer needs of Unicode's canonical decompositions.

Letters are in lower case there, as the tokenizer folds case first. The ranges end where a letter has no place in a word, and
Hangul is left to arithmetic. Run with Python 3; the Unicode version is the one of its module unicodedata.
"""
import unicodedata

VERSION = unicodedata.unidata_version
RANGES = [range(0xC0, 0x1100), range(0x1200, 0x2000), range(0x3040, 0x3100)]


def decomposition(code):
    text = unicodedata.decomposition(chr(code))
    return [] if not text or text.startswith("<") else [int(part, 16) for part in text.split()]


def is_lower(code):
    return chr(code).lower() == chr(code)


def rows(items, per_line):
    lines = [", ".join(items[i:i + per_line]) for i in range(0, len(items), per_line)]
    return ",\n    ".join(lines)


composed, split, single = [], [], []
for codes in RANGES:
    for code in codes:
        parts = decomposition(code)
        if not parts or not is_lower(code) or not unicodedata.category(chr(code))[0] in "LMN":
            continue
        if len(parts) == 1:
            single.append((code, parts[0]))
        elif unicodedata.normalize("NFC", "".join(map(chr, parts))) == chr(code):
            composed.append((code, *parts))
        else:
            split.append((code, *parts))
han = [decomposition(code) for code in range(0xF900, 0xFADA)]
assert all(len(parts) <= 1 for parts in han)

print(f"""/* What the multilingual tokenizer knows of Unicode's canonical decompositions (Unicode {VERSION}):
 * letters in lower case. scripts/workshop/lib/word_tables.py prints it. A file's indexes depend on it, so what is here must not
 * change. */

/* A letter, and the letter and mark that it is made of; in the order of the letter. */
static const unsigned short sqlcipherkit_composed[][3] = {{
    {rows([f"{{{a}, {b}, {c}}}" for a, b, c in composed], 5)}}};

/* The same where Unicode has the two stay apart. */
static const unsigned short sqlcipherkit_apart[][3] = {{
    {rows([f"{{{a}, {b}, {c}}}" for a, b, c in split], 5)}}};

/* A letter and the one that it is the same as. */
static const unsigned short sqlcipherkit_same[][2] = {{
    {rows([f"{{{a}, {b}}}" for a, b in single], 9)}}};

/* From U+F900 on: the Chinese character that a compatibility character is the same as; 0 for none. */
static const unsigned short sqlcipherkit_same_han[] = {{
    {rows([str(p[0] if p and p[0] < 0x10000 else 0) for p in han], 18)}}};""")
