/* A tokenizer for text in any language, which FTS5 has under the name "multilingual". engine.c includes this after the
 * amalgamation; nothing else does.
 *
 * Words are letters and digits with the marks on them. In scripts without spaces, each character is a token, and so is its pair
 * with the next character, at the same position. A query for such text consists of the pairs, and of the last character alone: as
 * many tokens as characters, so that a phrase is found wherever it occurs, and exactly the phrase is marked.
 */

/* A word, or a character of a script without spaces, with its marks. */
typedef struct WordUnit {
    WordBytes text;
    int start, end;
} WordUnit;

typedef struct WordFinder {
    int options, is_query;
    WordCategories categories;
    void *context;
    int (*token)(void *, int, const char *, int, int, int);
    int rc;
    WordUnit word;
    /* The character being read, and the one before it, which waits for the second of its pair. Empty if there is none. */
    WordUnit unit, before;
    unsigned char word_bytes[1024], unit_bytes[48], before_bytes[48];
} WordFinder;

static void word_pass(WordFinder *finder, int flags, const unsigned char *bytes, int size, const WordUnit *unit) {
    if (finder->rc == SQLITE_OK) {
        finder->rc = finder->token(finder->context, flags, (const char *)bytes, size, unit->start, unit->end);
    }
}

static void word_end_word(WordFinder *finder) {
    WordUnit *word = &finder->word;
    if (word->text.size > 0) word_pass(finder, 0, word->text.bytes, word->text.size, word);
    word->text.size = word->text.is_full = 0;
}

/* Passes the waiting character on, together with its pair if another one follows. That one waits next. */
static void word_end_unit(WordFinder *finder) {
    WordUnit *before = &finder->before, *unit = &finder->unit;
    const int has_pair = unit->text.size > 0;
    if (before->text.size > 0) {
        if (!finder->is_query || !has_pair) word_pass(finder, 0, before->text.bytes, before->text.size, before);
        if (has_pair) {
            unsigned char pair[sizeof finder->unit_bytes + sizeof finder->before_bytes];
            memcpy(pair, before->text.bytes, (size_t)before->text.size);
            memcpy(pair + before->text.size, unit->text.bytes, (size_t)unit->text.size);
            word_pass(finder, finder->is_query ? 0 : FTS5_TOKEN_COLOCATED, pair, before->text.size + unit->text.size, before);
        }
    }
    before->text.size = unit->text.size;
    memcpy(before->text.bytes, unit->text.bytes, (size_t)unit->text.size);
    before->start = unit->start;
    before->end = unit->end;
    unit->text.size = unit->text.is_full = 0;
}

static void word_end_run(WordFinder *finder) {
    if (finder->unit.text.size > 0) word_end_unit(finder);
    if (finder->before.text.size > 0) word_end_unit(finder);
}

static void word_add_unspaced(WordFinder *finder, unsigned c, int start, int end) {
    WordUnit *unit = &finder->unit;
    word_end_word(finder);
    if (unit->text.size > 0) {
        /* Burmese marks that Unicode treats as separate characters stay separate. */
        const int is_apart = c == 0x102b || c == 0x102c || c == 0x1038 || (c >= 0x1062 && c <= 0x1064)
            || (c >= 0x1067 && c <= 0x106d) || c == 0x1083 || (c >= 0x1087 && c <= 0x108c) || c == 0x108f;
        const int is_mark = finder->categories.marks[sqlite3Fts5UnicodeCategory(c)] && !is_apart;
        if (is_mark || ((c >= 0x1161 && c <= 0x11c2) && word_compose(unit->text.last, c))) {
            word_add_mark(&unit->text, c, finder->options);
            unit->end = end;
            return;
        }
        word_end_unit(finder);
    }
    unit->start = start;
    unit->end = end;
    word_add_letter(&unit->text, c, finder->options);
}

/* A fraction is two words, as in 1/2. */
static void word_add_fraction(WordFinder *finder, const char *digits, int start, int end) {
    word_end_run(finder);
    word_end_word(finder);
    for (; *digits; digits++) {
        word_append(&finder->word.text, (unsigned char)*digits);
        finder->word.start = start;
        finder->word.end = end;
        word_end_word(finder);
    }
}

static void word_add(WordFinder *finder, unsigned c, int start, int end) {
    if (c >= 0xbc && c <= 0xbe) return word_add_fraction(finder, c == 0xbc ? "14" : c == 0xbd ? "12" : "34", start, end);
    switch (word_kind(&finder->categories, finder->options, c)) {
    case word_letter:
        word_end_run(finder);
        if (finder->word.text.size == 0) finder->word.start = start;
        finder->word.end = end;
        word_add_letter(&finder->word.text, c, finder->options);
        break;
    case word_mark:
        /* A mark without a letter is ignored. */
        if (finder->word.text.size > 0) {
            word_add_mark(&finder->word.text, c, finder->options);
            finder->word.end = end;
        } else if (finder->unit.text.size > 0) {
            word_add_mark(&finder->unit.text, c, finder->options);
            finder->unit.end = end;
        }
        break;
    case word_ignored:
        /* A space without width is between words, except in scripts without spaces, where it is only a place to break a line. */
        if (c == 0x200b) word_end_word(finder);
        break;
    case word_unspaced: word_add_unspaced(finder, c, start, end); break;
    case word_symbol:
        word_end_run(finder);
        word_end_word(finder);
        word_append(&finder->word.text, c);
        finder->word.start = start;
        finder->word.end = end;
        word_end_word(finder);
        break;
    default:
        word_end_run(finder);
        word_end_word(finder);
    }
}

/* The character at an offset, and the offset of the next; U+FFFD for a byte that is not part of one. */
static unsigned word_decode(const unsigned char *text, int count, int at, int *next) {
    const unsigned first = text[at];
    *next = at + 1;
    if (first < 0x80) return first;
    const int length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || length > count - at) return 0xfffd;
    unsigned c = first & (0x7fu >> length);
    for (int i = 1; i < length; i++) {
        if ((text[at + i] & 0xc0) != 0x80) return 0xfffd;
        c = c << 6 | (text[at + i] & 0x3f);
    }
    /* An overlong form, a surrogate, or a value beyond Unicode. */
    if ((length == 3 && c < 0x800) || (length == 4 && (c < 0x10000 || c > 0x10ffff)) || (c >= 0xd800 && c < 0xe000)) return 0xfffd;
    *next = at + length;
    return c;
}

/* Returns the number of ASCII letters and digits that eight bytes begin with, and makes the bytes those of small letters: digits
 * have the bit of these. */
static int word_ascii_run(unsigned long long *bytes) {
    const unsigned long long ones = 0x0101010101010101, high = ones * 0x80, all = *bytes, low = all & ~high;
    const unsigned long long small = low | ones * 0x20;
    /* A sum reaches the highest bit of a byte from the first character of a range on. */
    const unsigned long long letters = (small + ones * (0x80 - 'a')) & ~(small + ones * (0x7f - 'z'));
    const unsigned long long digits = (low + ones * (0x80 - '0')) & ~(low + ones * (0x7f - '9'));
    const unsigned long long others = (~(letters | digits) & high) | (all & high);
    *bytes = small;
    return others == 0 ? 8 : __builtin_ctzll(others) >> 3;
}

/* Passes on a word of fewer than 16 ASCII letters and digits with an ASCII character after it, if nothing waits for what follows.
 * Returns the offset after that character; the same offset if that is not what the text has there. */
static int word_pass_short(WordFinder *finder, const unsigned char *text, int count, int at) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    unsigned long long bytes[2];
    if (count - at < (int)sizeof bytes || finder->word.text.size + finder->unit.text.size + finder->before.text.size > 0) return at;
    memcpy(bytes, text + at, sizeof bytes);
    const int first = word_ascii_run(&bytes[0]), second = word_ascii_run(&bytes[1]), run = first + (first == 8 ? second : 0);
    if (run == (int)sizeof bytes || text[at + run] >= 0x80) return at;
    if (run > 0) finder->rc = finder->token(finder->context, 0, (const char *)bytes, run, at, at + run);
    return at + run + 1;
#else
    (void)finder, (void)text, (void)count;
    return at;
#endif
}

/* Adds the ASCII letters and digits from an offset on, and returns the offset at which they end. Text in English is little else. */
static int word_add_ascii(WordFinder *finder, const unsigned char *text, int count, int at) {
    WordBytes *word = &finder->word.text;
    word_end_run(finder);
    if (word->size == 0) finder->word.start = at;
    const int room = word->is_full ? 0 : word->capacity - word->size, fitting = at + (count - at < room ? count - at : room);
    unsigned char *to = word->bytes + word->size;
    for (; at < fitting && word_is_ascii(text[at]); at++) *to++ = text[at] | 0x20;
    if (to > word->bytes + word->size) {
        word->size = (int)(to - word->bytes);
        word->last = to[-1];
        word->last_at = word->size - 1;
    }
    for (; at < count && word_is_ascii(text[at]); at++) word_append(word, text[at] | 0x20u);
    finder->word.end = at;
    return at;
}

static int word_find(int options, int purpose, const char *text, int count, void *context,
                     int (*token)(void *, int, const char *, int, int, int)) {
    WordFinder finder;
    finder.options = options;
    finder.is_query = purpose & FTS5_TOKENIZE_QUERY;
    finder.context = context;
    finder.token = token;
    finder.rc = SQLITE_OK;
    word_read_categories(&finder.categories);
    const WordBytes word = {finder.word_bytes, sizeof finder.word_bytes, 0, 0, 0, 0};
    const WordBytes unit = {finder.unit_bytes, sizeof finder.unit_bytes, 0, 0, 0, 0};
    const WordBytes before = {finder.before_bytes, sizeof finder.before_bytes, 0, 0, 0, 0};
    finder.word.text = word;
    finder.unit.text = unit;
    finder.before.text = before;
    for (int at = 0, next; at < count && finder.rc == SQLITE_OK; at = next) {
        next = word_pass_short(&finder, (const unsigned char *)text, count, at);
        if (next > at) continue;
        if (word_is_ascii((unsigned char)text[at])) {
            next = word_add_ascii(&finder, (const unsigned char *)text, count, at);
            continue;
        }
        if ((unsigned char)text[at] < 0x80) {
            word_end_run(&finder);
            word_end_word(&finder);
            next = at + 1;
            continue;
        }
        const unsigned c = word_decode((const unsigned char *)text, count, at, &next);
        word_add(&finder, word_widen(c), at, next);
    }
    word_end_run(&finder);
    word_end_word(&finder);
    return finder.rc;
}

/* MARK: What FTS5 calls. Its tokenizer is a pointer to the options. */

static int word_create(void *data, const char **arguments, int count, Fts5Tokenizer **tokenizer) {
    (void)data;
    int *options = sqlite3_malloc(sizeof *options);
    if (options == NULL) return SQLITE_NOMEM;
    *options = SQLCIPHERKIT_WORDS_FOLD_DIACRITICS | SQLCIPHERKIT_WORDS_FOLD_VOWELS;
    int rc = count % 2 == 0 ? SQLITE_OK : SQLITE_ERROR;
    for (int i = 0; rc == SQLITE_OK && i < count; i += 2) {
        const int option = sqlite3_stricmp(arguments[i], "remove_diacritics") == 0 ? SQLCIPHERKIT_WORDS_FOLD_DIACRITICS
            : sqlite3_stricmp(arguments[i], "remove_vowel_signs") == 0             ? SQLCIPHERKIT_WORDS_FOLD_VOWELS
                                                                                   : 0;
        const char *value = arguments[i + 1];
        if (option == 0 || (value[0] != '0' && value[0] != '1') || value[1]) {
            rc = SQLITE_ERROR;
        } else if (value[0] == '0') {
            *options &= ~option;
        }
    }
    if (rc == SQLITE_OK) {
        *tokenizer = (Fts5Tokenizer *)options;
    } else {
        sqlite3_free(options);
    }
    return rc;
}

static void word_delete(Fts5Tokenizer *tokenizer) { sqlite3_free(tokenizer); }

static int word_tokenize(Fts5Tokenizer *tokenizer, void *context, int purpose, const char *text, int count,
                         int (*token)(void *, int, const char *, int, int, int)) {
    return word_find(*(const int *)tokenizer, purpose, text, count, context, token);
}

/* Each new connection calls this (SQLITE_EXTRA_AUTOEXT in options.h). FTS5 has registered its own tokenizers by then, and the first
 * one registered is the default. */
int sqlcipherkit_start_full_text(sqlite3 *db) {
    fts5_tokenizer methods = {word_create, word_delete, word_tokenize};
    const Module *module = sqlite3HashFind(&db->aModule, "fts5");
    if (module == NULL) return SQLITE_OK;
    fts5_api *api = &((Fts5Global *)module->pAux)->api;
    return api->xCreateTokenizer(api, "multilingual", NULL, &methods, NULL);
}

#ifndef SQLCIPHERKIT_PLAIN_SYMBOLS
int sqlcipherkit_find_words(int options, int purpose, const char *text, int count, void *context,
                            int (*token)(void *, int, const char *, int, int, int)) {
    return word_find(options, purpose, text, count, context, token);
}
#endif
