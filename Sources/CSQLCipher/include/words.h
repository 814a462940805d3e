/* The multilingual tokenizer, for text that Swift code has at hand. FTS5 has it under the name "multilingual". */
#pragma once

#include "sqlite.h"

enum {
    /* Accents and other marks on Latin, Greek and Cyrillic letters are dropped, and ø, ß, æ and their like written out. */
    SQLCIPHERKIT_WORDS_FOLD_DIACRITICS = 1,
    /* Vowel signs of Arabic and Hebrew are dropped, and forms of the same Arabic letter are one. */
    SQLCIPHERKIT_WORDS_FOLD_VOWELS = 2
};

/* Calls `token` for each token of a text in UTF-8, well-formed or not: with `context`, FTS5's flags, the token's bytes and their
 * number, and where its part of the text begins and ends. `purpose` is FTS5's reason to ask. Returns what `token` returned if that
 * is not SQLITE_OK, which ends it. */
int sqlcipherkit_find_words(int options, int purpose, const char *text, int count, void *context,
                            int (*token)(void *context, int flags, const char *bytes, int size, int start, int end));
