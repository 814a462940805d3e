/* The multilingual tokenizer's treatment of characters. engine.c includes this after the amalgamation; nothing else does.
 *
 * Categories and case come from FTS5's own tables (Unicode 6.1), which never change, because existing indexes depend on them.
 */
#include "../include/words.h"
#include "word_tables.h"

/* The kinds of characters. */
enum { word_separator, word_letter, word_mark, word_ignored, word_unspaced, word_symbol };

/* A token being built: normalized UTF-8, cut off where it no longer fits. */
typedef struct WordBytes {
    unsigned char *bytes;
    int capacity, size;
    /* The last character, and the offset at which it begins. */
    unsigned last;
    int last_at, is_full;
} WordBytes;

static void word_append(WordBytes *word, unsigned c) {
    const int length = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    if (word->is_full || word->size + length > word->capacity) {
        word->is_full = 1;
        return;
    }
    unsigned char *at = word->bytes + word->size;
    word->last = c;
    word->last_at = word->size;
    word->size += length;
    if (length == 1) {
        at[0] = (unsigned char)c;
        return;
    }
    for (int i = length - 1; i > 0; i--, c >>= 6) at[i] = (unsigned char)(0x80 | (c & 0x3f));
    at[0] = (unsigned char)((length == 2 ? 0xc0 : length == 3 ? 0xe0 : 0xf0) | c);
}

/* The index of a letter in a table sorted by letters, or the index at which it would be. */
static int word_index(const unsigned short (*table)[3], int count, unsigned c) {
    int low = 0, high = count;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (table[middle][0] < c) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

enum {
    word_composed_count = sizeof sqlcipherkit_composed / sizeof *sqlcipherkit_composed,
    word_apart_count = sizeof sqlcipherkit_apart / sizeof *sqlcipherkit_apart,
    word_same_count = sizeof sqlcipherkit_same / sizeof *sqlcipherkit_same,
    word_same_han_count = sizeof sqlcipherkit_same_han / sizeof *sqlcipherkit_same_han
};

/* The letter without its mark; 0 if it has none. */
static unsigned word_base(unsigned c) {
    const int index = word_index(sqlcipherkit_composed, word_composed_count, c);
    return index < word_composed_count && sqlcipherkit_composed[index][0] == c ? sqlcipherkit_composed[index][1] : 0;
}

/* The letter composed of a letter and a mark; 0 if there is none. */
static unsigned word_compose(unsigned base, unsigned mark) {
    if (base - 0x1100 < 19 && mark - 0x1161 < 21) return 0xac00 + ((base - 0x1100) * 21 + mark - 0x1161) * 28;
    if (base - 0xac00 < 11172 && (base - 0xac00) % 28 == 0 && mark - 0x11a8 < 27) return base + mark - 0x11a7;
    /* Marks other than the general ones compose letters in their own block only. */
    const int is_general = mark - 0x300 < 0x70;
    const unsigned from = is_general ? 0 : mark & ~0xffu, to = is_general ? 0x10000 : from + 0x100;
    for (int i = word_index(sqlcipherkit_composed, word_composed_count, from);
         i < word_composed_count && sqlcipherkit_composed[i][0] < to; i++) {
        if (sqlcipherkit_composed[i][1] == base && sqlcipherkit_composed[i][2] == mark) return sqlcipherkit_composed[i][0];
    }
    return 0;
}

static int word_is_latin_or_greek(unsigned c) {
    return c < 0x250 || (c >= 0x370 && c < 0x400) || (c >= 0x1e00 && c < 0x2000);
}

/* Returns the letter or digit that a mathematical letter or digit is a form of; 0 for any other character. */
static unsigned word_mathematical(unsigned c) {
    /* Letters that Unicode had before the others, in pairs with their ASCII letters. */
    static const unsigned short older[] = {
        0x2102, 'c', 0x210a, 'g', 0x210b, 'h', 0x210c, 'h', 0x210d, 'h', 0x210e, 'h', 0x2110, 'i', 0x2111, 'i', 0x2112, 'l',
        0x2115, 'n', 0x2119, 'p', 0x211a, 'q', 0x211b, 'r', 0x211c, 'r', 0x211d, 'r', 0x2124, 'z', 0x2128, 'z', 0x212c, 'b',
        0x212d, 'c', 0x212f, 'e', 0x2130, 'e', 0x2131, 'f', 0x2133, 'm', 0x2134, 'o'};
    if (c >= 0x2102 && c <= 0x2134) {
        for (unsigned i = 0; i < sizeof older / sizeof *older; i += 2) {
            if (older[i] == c) return older[i + 1];
        }
    }
    if (c < 0x1d400 || c > 0x1d7ff) return 0;
    if (c >= 0x1d7ce) return '0' + (c - 0x1d7ce) % 10;
    if (c < 0x1d6a4) return 'a' + (c - 0x1d400) % 26;
    if (c < 0x1d6a8 || c > 0x1d7c9) return 0;
    const unsigned letter = (c - 0x1d6a8) % 58;
    return letter < 25 ? (letter == 17 ? 0x3b8 : 0x3b1 + letter) : letter >= 26 && letter < 51 ? 0x3b1 + letter - 26 : 0;
}

/* Maps full-width and mathematical forms to ordinary letters, and half-width kana and their sound marks to the full-width ones. */
static unsigned word_widen(unsigned c) {
    static const unsigned char kana[] = {
        0xf2, 0xa1, 0xa3, 0xa5, 0xa7, 0xa9, 0xe3, 0xe5, 0xe7, 0xc3, 0xfc, 0xa2, 0xa4, 0xa6, 0xa8, 0xaa, 0xab, 0xad, 0xaf, 0xb1,
        0xb3, 0xb5, 0xb7, 0xb9, 0xbb, 0xbd, 0xbf, 0xc1, 0xc4, 0xc6, 0xc8, 0xca, 0xcb, 0xcc, 0xcd, 0xce, 0xcf, 0xd2, 0xd5, 0xd8,
        0xdb, 0xde, 0xdf, 0xe0, 0xe1, 0xe2, 0xe4, 0xe6, 0xe8, 0xe9, 0xea, 0xeb, 0xec, 0xed, 0xef, 0xf3, 0x99, 0x9a};
    if (c >= 0xff01 && c <= 0xff5e) return c - 0xfee0;
    if (c >= 0xff66 && c <= 0xff9f) return 0x3000u | kana[c - 0xff66];
    const unsigned letter = word_mathematical(c);
    return letter ? letter : c;
}

/* Letters of scripts without spaces between words. Korean has spaces, but around compounds with their particles. */
static int word_is_unspaced(unsigned c) {
    if (c < 0x0e01) return 0;
    if (c < 0x1100) {
        return (c >= 0x0e01 && c <= 0x0e3a) || (c >= 0x0e40 && c <= 0x0e4e)                              /* Thai */
            || (c >= 0x0e81 && c <= 0x0ecd) || (c >= 0x0edc && c <= 0x0edf)                              /* Lao */
            || (c >= 0x1000 && c <= 0x103f) || (c >= 0x1050 && c <= 0x108f);                             /* Burmese */
    }
    if (c < 0x3005) return c <= 0x11ff || (c >= 0x1780 && c <= 0x17d3) || c == 0x17d7 || c == 0x17dc || c == 0x17dd; /* Khmer */
    return c <= 0x3007 || (c >= 0x3021 && c <= 0x3029)                                                   /* numerals */
        || (c >= 0x3041 && c <= 0x3096) || c == 0x3099 || c == 0x309a || (c >= 0x309d && c <= 0x309f)    /* Hiragana */
        || (c >= 0x30a1 && c <= 0x30fa) || (c >= 0x30fc && c <= 0x318f)              /* Katakana, Bopomofo, Hangul letters */
        || (c >= 0x31a0 && c <= 0x31bf) || (c >= 0x31f0 && c <= 0x31ff) || (c >= 0x3400 && c <= 0x4dbf)
        || (c >= 0x4e00 && c <= 0x9fff) || (c >= 0xac00 && c <= 0xd7a3) || (c >= 0xf900 && c <= 0xfaff)
        || (c >= 0x20000 && c <= 0x3ffff);
}

/* Characters that only affect how text looks. */
static int word_is_ignored(unsigned c, int options) {
    if (c == 0x640) return options & SQLCIPHERKIT_WORDS_FOLD_VOWELS;
    return c == 0xad || c == 0x34f || c == 0x61c || (c >= 0x180b && c <= 0x180e) || (c >= 0x200b && c <= 0x200f)
        || (c >= 0x202a && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || (c >= 0xfe00 && c <= 0xfe0f) || c == 0xfeff
        || (c >= 0x1f3fb && c <= 0x1f3ff) || (c >= 0xe0000 && c <= 0xe0fff);
}

/* For each category, by FTS5's number: whether its characters are part of words, and whether they are marks. */
typedef struct WordCategories { unsigned char letters[32], marks[32]; } WordCategories;

static void word_read_categories(WordCategories *categories) {
    memset(categories, 0, sizeof *categories);
    sqlite3Fts5UnicodeCatParse("L*", categories->letters);
    sqlite3Fts5UnicodeCatParse("N*", categories->letters);
    sqlite3Fts5UnicodeCatParse("Co", categories->letters);
    sqlite3Fts5UnicodeCatParse("M*", categories->marks);
    /* Characters that the tables lack, mostly letters of newer Unicode versions, are part of words, as in unicode61. */
    categories->marks[0] = 0;
}

/* Returns whether a character is an ASCII letter or digit. */
static int word_is_ascii(unsigned c) { return c - '0' < 10 || (c | 0x20) - 'a' < 26; }

static int word_kind(const WordCategories *categories, int options, unsigned c) {
    if (c < 0x80) return word_is_ascii(c) ? word_letter : word_separator;
    if (word_is_ignored(c, options)) return word_ignored;
    if (word_is_unspaced(c)) return word_unspaced;
    if ((c >= 0x1f1e6 && c <= 0x1faff) || (c >= 0x1f000 && c <= 0x1f0ff) || (c >= 0x2600 && c <= 0x2767)
        || (c >= 0x2776 && c <= 0x27bf) || (c >= 0x2b05 && c <= 0x2b55)) {
        return word_symbol;
    }
    const int category = sqlite3Fts5UnicodeCategory(c);
    return categories->letters[category] ? word_letter : categories->marks[category] ? word_mark : word_separator;
}

/* The value of a decimal digit of any script; -1 for none. */
static int word_digit(unsigned c) {
    static const unsigned short zeros[] = {
        0x0660, 0x06f0, 0x07c0, 0x0966, 0x09e6, 0x0a66, 0x0ae6, 0x0b66, 0x0be6, 0x0c66, 0x0ce6, 0x0d66, 0x0e50, 0x0ed0, 0x0f20,
        0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40, 0x1c50, 0xa620, 0xa8d0, 0xa900,
        0xa9d0, 0xaa50, 0xabf0};
    for (unsigned i = 0; i < sizeof zeros / sizeof *zeros; i++) {
        if (c < zeros[i]) return -1;
        if (c < zeros[i] + 10u) return (int)(c - zeros[i]);
    }
    return -1;
}

static int word_is_vowel_sign(unsigned c) {
    return (c >= 0x591 && c <= 0x5c7) || (c >= 0x610 && c <= 0x61a) || (c >= 0x64b && c <= 0x65f) || c == 0x670
        || (c >= 0x6d6 && c <= 0x6ed) || (c >= 0x8ca && c <= 0x8ff);
}

/* Returns the other letters that spell a letter out; NULL if there are none. */
static const char *word_spelling(unsigned c, int options) {
    switch (c) {
    case 0x133: return "ij";
    case 0xfb00: return "ff";
    case 0xfb01: return "fi";
    case 0xfb02: return "fl";
    case 0xfb03: return "ffi";
    case 0xfb04: return "ffl";
    case 0xfb05: case 0xfb06: return "st";
    }
    if (!(options & SQLCIPHERKIT_WORDS_FOLD_DIACRITICS)) return c == 0x130 ? "i\xcc\x87" : NULL;
    switch (c) {
    case 0xdf: return "ss";
    case 0xe6: return "ae";
    case 0xf0: case 0x111: return "d";
    case 0xf8: return "o";
    case 0xfe: return "th";
    case 0x127: return "h";
    case 0x130: case 0x131: return "i";
    case 0x142: return "l";
    case 0x153: return "oe";
    case 0x167: return "t";
    }
    return NULL;
}

/* The form to which the forms of an Arabic letter are folded. */
static unsigned word_arabic(unsigned c) {
    const unsigned base = word_base(c);
    switch (base ? base : c) {
    case 0x671: case 0x672: case 0x673: case 0x675: return 0x627;
    case 0x649: case 0x6cc: return 0x64a;
    case 0x629: return 0x647;
    case 0x6a9: return 0x643;
    default: return base ? base : c;
    }
}

/* Devanagari writes a nasal before a consonant of its own row as a letter with a virama, or as an anusvara. Takes the letter and
 * the virama at the end of a word for an anusvara if `c` follows them. */
static void word_nasalize(WordBytes *word, unsigned c) {
    enum { virama = 0x94d, anusvara = 0x902 };
    static const unsigned short rows[][3] = {
        {0x915, 0x918, 0x919}, {0x91a, 0x91d, 0x91e}, {0x91f, 0x922, 0x923}, {0x924, 0x927, 0x928}, {0x92a, 0x92d, 0x92e}};
    if (word->last != virama || word->is_full || word->size < 6) return;
    const unsigned char *at = word->bytes + word->size - 6;
    const unsigned nasal = (at[0] & 0xfu) << 12 | (at[1] & 0x3fu) << 6 | (at[2] & 0x3fu);
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (c >= rows[i][0] && c <= rows[i][1] && nasal == rows[i][2]) {
            word->size -= 6;
            word_append(word, anusvara);
        }
    }
}

static void word_add_letter(WordBytes *word, unsigned c, int options) {
    const int is_folded = options & SQLCIPHERKIT_WORDS_FOLD_DIACRITICS;
    if (c < 0x80) {
        word_append(word, c >= 'A' && c <= 'Z' ? c | 0x20 : c);
        return;
    }
    const int digit = word_digit(c);
    if (digit >= 0) {
        word_append(word, '0' + (unsigned)digit);
        return;
    }
    if (c < 0x20000) c = (unsigned)sqlite3Fts5UnicodeFold((int)c, 0);
    if (c >= 0x345 && c < 0x2000) {
        for (int i = 0; i < word_same_count; i++) {
            if (sqlcipherkit_same[i][0] == c) c = sqlcipherkit_same[i][1];
        }
        const int apart = word_index(sqlcipherkit_apart, word_apart_count, c);
        if (apart < word_apart_count && sqlcipherkit_apart[apart][0] == c) {
            if (is_folded) word_nasalize(word, sqlcipherkit_apart[apart][1]);
            word_append(word, sqlcipherkit_apart[apart][1]);
            if (!is_folded || sqlcipherkit_apart[apart][2] != 0x93c) word_append(word, sqlcipherkit_apart[apart][2]);
            return;
        }
        if (is_folded && (c == 0x929 || c == 0x931 || c == 0x934)) c = word_base(c);
        if (is_folded && c >= 0x915 && c <= 0x92d) word_nasalize(word, c);
    } else if (c >= 0xf900 && c < 0xf900u + word_same_han_count && sqlcipherkit_same_han[c - 0xf900]) {
        c = sqlcipherkit_same_han[c - 0xf900];
    }
    if ((options & SQLCIPHERKIT_WORDS_FOLD_VOWELS) && c >= 0x620 && c < 0x700) c = word_arabic(c);
    if (is_folded) {
        /* Cyrillic letters with marks are letters of their own, except the Russian yo and those with a stress mark. */
        if (word_is_latin_or_greek(c) || c == 0x450 || c == 0x451 || c == 0x45d) {
            for (unsigned base; (base = word_base(c)) != 0;) c = base;
        }
    }
    const char *spelling = word_spelling(c, options);
    if (spelling == NULL) {
        word_append(word, c);
        return;
    }
    for (; *spelling; spelling++) {
        if ((unsigned char)*spelling < 0x80) {
            word_append(word, (unsigned char)*spelling);
        } else {
            word_append(word, 0x307);
            break;
        }
    }
}

/* Adds a mark to the last letter of a word. */
static void word_add_mark(WordBytes *word, unsigned c, int options) {
    if (c == 0x340 || c == 0x341) c -= 0x40;
    if (options & SQLCIPHERKIT_WORDS_FOLD_DIACRITICS) {
        /* The dot below a Devanagari letter, which many leave out, and the half-moon over an anusvara. */
        if (c == 0x93c) return;
        if (c == 0x901) c = 0x902;
    }
    const int is_general = (c >= 0x300 && c <= 0x36f) || (c >= 0x483 && c <= 0x489) || (c >= 0x1ab0 && c <= 0x1aff)
        || (c >= 0x1dc0 && c <= 0x1dff) || (c >= 0x20d0 && c <= 0x20ff) || (c >= 0xfe20 && c <= 0xfe2f);
    const int is_dropped = is_general ? options & SQLCIPHERKIT_WORDS_FOLD_DIACRITICS
                                      : (options & SQLCIPHERKIT_WORDS_FOLD_VOWELS) && word_is_vowel_sign(c);
    if (word->size == 0 || word->is_full || (is_dropped && (!is_general || word_is_latin_or_greek(word->last)))) return;
    const unsigned composed = word_compose(word->last, c);
    if (composed) {
        word->size = word->last_at;
        word_add_letter(word, composed, options);
    } else if (!is_dropped) {
        word_append(word, c);
    }
}
