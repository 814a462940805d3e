/* Stems of words by the rules of Snowball (https://snowballstem.org), whose source scripts/vendor puts into Vendor/sqlcipher. */
#pragma once

enum {
    sqlcipherkit_stems_danish,
    sqlcipherkit_stems_dutch,
    sqlcipherkit_stems_french,
    sqlcipherkit_stems_german,
    sqlcipherkit_stems_italian,
    sqlcipherkit_stems_norwegian,
    sqlcipherkit_stems_portuguese,
    sqlcipherkit_stems_russian,
    sqlcipherkit_stems_spanish,
    sqlcipherkit_stems_swedish,
    sqlcipherkit_stems_languages
};

/* The rules of one language, with memory for one word. Not to be used by two threads at a time. */
typedef struct sqlcipherkit_stems sqlcipherkit_stems;

/* Returns NULL if there is no memory, and for a number that is no language. */
sqlcipherkit_stems *sqlcipherkit_stems_open(int language);
void sqlcipherkit_stems_close(sqlcipherkit_stems *stems);

/* Finds the stem of a word in lower case, in UTF-8. Returns its size in bytes, and sets `stem` to its bytes, which stay until the
 * next call. Returns 0 for text that is not a word of 3 to 120 bytes in the language's script, and -1 if there is no memory. */
int sqlcipherkit_stems_find(sqlcipherkit_stems *stems, const unsigned char *word, int count, const unsigned char **stem);
