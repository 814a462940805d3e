/* Search of a full-text index (FTS5) for user input: which words of the index are near a typed one, and which rows have them,
 * ranked by a list of rules. Compiled with the engine (Engine/full_text_*.h).
 *
 * An index is open from sqlcipherkit_words_open to sqlcipherkit_words_close. Meanwhile the statement whose cursor it was opened
 * with must stay on its row: it holds the read transaction and the table. */
#pragma once

#include "sqlite.h"

typedef struct sqlcipherkit_words sqlcipherkit_words;

/* Opens the index of a cursor, the result of `SELECT t FROM t WHERE t MATCH '*id'`. `api` is the pointer from `SELECT fts5(?)`.
 * Returns SQLITE_OK, SQLITE_MISUSE for an unknown cursor, or SQLite's error. */
int sqlcipherkit_words_open(void *api, sqlite3_int64 cursor, sqlcipherkit_words **words);
void sqlcipherkit_words_close(sqlcipherkit_words *words);

/* Returns 1 if the index still has the content that `*content` identifies. Otherwise returns 0 and sets `*content` to identify the
 * present content. `*content` must be NULL at first. Release its last value with sqlcipherkit_words_forget, at any time. */
int sqlcipherkit_words_is_same(sqlcipherkit_words *words, void **content);
void sqlcipherkit_words_forget(void *content);

/* Writes the number of rows, the number of columns, and FTS5's detail: 0 full, 1 none, 2 column. Returns SQLITE_OK or SQLite's
 * error. */
int sqlcipherkit_words_facts(sqlcipherkit_words *words, sqlite3_int64 *rows, int *columns, int *detail);

/* Splits a text into tokens with the table's tokenizer, as FTS5's xTokenize does. */
int sqlcipherkit_words_tokenize(
    sqlcipherkit_words *words, int purpose, const char *text, int count, void *context,
    int (*token)(void *, int, const char *, int, int, int));

/* Writes the Porter stem of a word of ASCII letters in lower case to `stem`, which must have room for 128 bytes. Returns the stem's
 * length, or 0 for a word of more than 64 bytes. */
int sqlcipherkit_words_stem(const char *word, int count, char *stem);

/* A word of the index. `size` is the approximate number of bytes of its list of rows, `documents` the approximate number of
 * rows. */
typedef struct {
    const unsigned char *bytes;
    int count;
    int distance;
    sqlite3_int64 size;
    sqlite3_int64 documents;
} sqlcipherkit_term;

/* Words of the index, sorted and without duplicates. Their bytes live as long as the list. `is_complete` is 0 if there were more
 * pages to read than allowed. */
typedef struct {
    sqlcipherkit_term *terms;
    int count;
    int is_complete;
    int pages;
    void *memory;
    int capacity;
} sqlcipherkit_terms;

/* Finds the words that begin with `prefix`; with `exact`, only that word itself. If the words take more than `pages` leaf pages of
 * a segment, finds some of the first words and those in the most rows. */
int sqlcipherkit_words_beginning(
    sqlcipherkit_words *words, const char *prefix, int count, int exact, int pages, sqlcipherkit_terms *found);

/* Finds the words within a number of edits of a word. An edit inserts, removes or changes a character, or swaps it with its
 * neighbour (optimal string alignment). Sets `distance`; with `prefix`, to the distance of the found word's nearest beginning.
 * `first` is the number of edits allowed in words whose first character differs, or -1 to leave out such words. Reads at most
 * `pages` leaf pages of each segment. */
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

/* A word or phrase that a typed word may mean: `count` of the question's tokens from `first` on, one after the other. `documents`
 * is the approximate number of rows that have it, from which its weight is computed. */
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

/* A typed word. `documents` is the approximate number of rows that have it: the rarest word is looked for first. `columns`
 * restricts it to these columns, in ascending order; if `column_count` is 0, it may be in any. */
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
    /* How many of the slots that are not excluded a row must match. */
    int minimum;
    /* The ranking rules, in order. */
    const int *rules;
    int rule_count;
    /* For each column, its weight in the relevance, and its position in the column rule. */
    const double *weights;
    const int *places;
    /* The number of rows that the alternatives' `documents` refer to. If the index has more rows, its own number is used. */
    sqlite3_int64 rows;
    /* The search ends after about this many steps through lists of rows. */
    sqlite3_int64 budget;
    /* The maximum number of matches to return. */
    int wanted;
    /* Returns 1 to accept a row, 0 to reject it, and -1 to end with SQLITE_ABORT. NULL accepts all rows. It is called for rows that
     * are among the best so far, and until it has been called `accept_all_up_to` times for all others too. */
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

/* Finds the best rows, best first. Release the answer with sqlcipherkit_answer_free, even after an error. */
int sqlcipherkit_words_match(sqlcipherkit_words *words, const sqlcipherkit_question *question, sqlcipherkit_answer *answer);
void sqlcipherkit_answer_free(sqlcipherkit_answer *answer);
