/* Search of a full-text index (FTS5) as people type: which words the index has near a typed one, and which rows have them, in the
 * order of a list of rules. Compiled with the engine (Engine/full_text_terms.h, full_text_near.h, full_text_match.h).
 *
 * An index is open from sqlcipherkit_words_open to sqlcipherkit_words_close. Meanwhile the statement whose cursor it was opened
 * with stays on its row: it holds the read transaction and the table. */
#pragma once

#include "sqlite.h"

typedef struct sqlcipherkit_words sqlcipherkit_words;

/* Opens the index of a cursor: what `SELECT t FROM t WHERE t MATCH '*id'` returned. `api` is what `SELECT fts5(?)` gives.
 * Returns SQLITE_OK, SQLITE_MISUSE for an unknown cursor, or SQLite's error. */
int sqlcipherkit_words_open(void *api, sqlite3_int64 cursor, sqlcipherkit_words **words);
void sqlcipherkit_words_close(sqlcipherkit_words *words);

/* Whether the index still has the content that it had when `*content` was set. Returns 1 and leaves `*content`, or returns 0 and
 * sets `*content` for the present content. `*content` is NULL at first. Its last value is released with
 * sqlcipherkit_words_forget, at any time. */
int sqlcipherkit_words_is_same(sqlcipherkit_words *words, void **content);
void sqlcipherkit_words_forget(void *content);

/* The number of rows, of columns, and FTS5's detail: 0 full, 1 none, 2 column. */
int sqlcipherkit_words_facts(sqlcipherkit_words *words, sqlite3_int64 *rows, int *columns, int *detail);

/* Cuts a text into tokens with the table's tokenizer, as FTS5's xTokenize does. */
int sqlcipherkit_words_tokenize(
    sqlcipherkit_words *words, int purpose, const char *text, int count, void *context,
    int (*token)(void *, int, const char *, int, int, int));

/* The Porter stem of a word of ASCII letters in lower case, of at most 64 bytes, into a buffer of 128. Returns its length. */
int sqlcipherkit_words_stem(const char *word, int count, char *stem);

/* A word of the index. `size` is about the bytes of its list of rows, `documents` about their number. */
typedef struct {
    const unsigned char *bytes;
    int count;
    int distance;
    sqlite3_int64 size;
    sqlite3_int64 documents;
} sqlcipherkit_term;

/* Words of the index, in order, no two alike; they live as long as the list. `is_complete` is 0 where there were more pages to
 * read than allowed. */
typedef struct {
    sqlcipherkit_term *terms;
    int count;
    int is_complete;
    int pages;
    void *memory;
    int capacity;
} sqlcipherkit_terms;

/* The words that begin with `prefix`; with `exact`, that word alone. Of a range of more than `pages` leaf pages, some of the first
 * words and those in the most rows. */
int sqlcipherkit_words_beginning(
    sqlcipherkit_words *words, const char *prefix, int count, int exact, int pages, sqlcipherkit_terms *found);

/* The words within a number of edits of a word: a character inserted, removed, changed, or exchanged with its neighbour (optimal
 * string alignment). `distance` is set. With `prefix`, it is that of the nearest beginning of the word. `first` is how many edits
 * may be left of those for a word whose first character differs, or -1 for none of those. At most `pages` leaf pages are read. */
int sqlcipherkit_words_near(
    sqlcipherkit_words *words, const char *word, int count, int edits, int first, int prefix, int pages,
    sqlcipherkit_terms *found);

void sqlcipherkit_terms_free(sqlcipherkit_terms *terms);

/* --- Rows ------------------------------------------------------------------------------------------------------------- */

enum {
    sqlcipherkit_max_slots = 32,
    sqlcipherkit_rule_words = 1,
    sqlcipherkit_rule_typos = 2,
    sqlcipherkit_rule_proximity = 3,
    sqlcipherkit_rule_column = 4,
    sqlcipherkit_rule_exactness = 5,
    sqlcipherkit_rule_relevance = 6,
};

/* What stands for a typed word: `count` of the tokens from `first` on, one after the other. `documents` is about how many rows have
 * it, for its weight. */
typedef struct {
    int slot;
    int first;
    int count;
    int typos;
    int exactness;
    sqlite3_int64 documents;
} sqlcipherkit_alternative;

typedef struct {
    const unsigned char *bytes;
    int count;
} sqlcipherkit_index_token;

/* A typed word. `documents` is roughly the number of rows that have it: the rarest word is looked for first. `columns` limits it
 * to some columns, in ascending order; 0 of them are all. */
typedef struct {
    int is_excluded;
    sqlite3_int64 documents;
    const int *columns;
    int column_count;
} sqlcipherkit_slot;

typedef struct {
    const sqlcipherkit_slot *slots;
    int slot_count;
    const sqlcipherkit_alternative *alternatives;
    int alternative_count;
    const sqlcipherkit_index_token *tokens;
    /* How many of the slots that are not excluded a row must have. */
    int minimum;
    /* Rules in their order. */
    const int *rules;
    int rule_count;
    /* For each column: its weight in the relevance, and its place in the rule of columns. */
    const double *weights;
    const int *places;
    /* The number of rows that the alternatives' documents are among; the index's own if it has more. */
    sqlite3_int64 rows;
    /* The number of steps through lists of rows after which it ends. */
    sqlite3_int64 budget;
    /* How many of the best rows are wanted. */
    int wanted;
    /* Whether a row is wanted at all: 1, 0, or -1 to end with `rc`. NULL for all rows. */
    int (*accept)(void *, sqlite3_int64);
    void *context;
    int accept_all_up_to;
} sqlcipherkit_question;

typedef struct {
    sqlite3_int64 row;
    double relevance;
    unsigned int present;
    unsigned char words;
    unsigned char typos;
    unsigned char proximity;
    unsigned char column;
    unsigned char exactness;
    sqlite3_uint64 before;
    sqlite3_uint64 after;
    float frequency[sqlcipherkit_max_slots];
    float weight[sqlcipherkit_max_slots];
} sqlcipherkit_match;

typedef struct {
    sqlcipherkit_match *matches;
    int count;
    sqlite3_int64 total;
    sqlite3_int64 steps;
    int is_complete;
} sqlcipherkit_answer;

/* The best rows, the best first. The answer is freed with sqlcipherkit_answer_free, whatever is returned. */
int sqlcipherkit_words_match(sqlcipherkit_words *words, const sqlcipherkit_question *question, sqlcipherkit_answer *answer);
void sqlcipherkit_answer_free(sqlcipherkit_answer *answer);
