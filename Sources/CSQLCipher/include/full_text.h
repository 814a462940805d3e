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

/* Compares the index with its content, and with external content only if `external`. Nothing is written. Returns SQLITE_OK,
 * SQLITE_CORRUPT_VTAB for an index that is damaged or differs, or SQLite's error. */
int sqlcipherkit_words_check(sqlcipherkit_words *words, int external);

/* Returns the name of a trigger of a database that writes to a full-text table and was not created with it; NULL if there is none.
 * The schema must have been read. The name lives as long as the schema does. */
const char *sqlcipherkit_trigger_writing(sqlite3 *db, const char *schema, const char *table);

/* Returns 1 if the index still has the content that `*content` identifies. Otherwise returns 0 and sets `*content` to identify the
 * present content. `*content` must be NULL at first; it is a number, not an address. */
int sqlcipherkit_words_is_same(sqlcipherkit_words *words, void **content);

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

/* A word of the index. `documents` is the approximate number of its rows. */
typedef struct {
    const unsigned char *bytes;
    int count;
    int distance;
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
    sqlcipherkit_rule_field = 2,
    sqlcipherkit_rule_place = 3,
    sqlcipherkit_rule_exactness = 4,
    sqlcipherkit_rule_relevance = 5,
};

/* The field of a row: a column is the query, the heaviest one begins with it, or neither. */
enum { sqlcipherkit_field_whole, sqlcipherkit_field_begins, sqlcipherkit_field_other };

/* The places of the words in a row: side by side in the heaviest column, all in it, side by side in another; all but a word too
 * many side by side in the heaviest column; anywhere. */
enum {
    sqlcipherkit_place_together,
    sqlcipherkit_place_heaviest,
    sqlcipherkit_place_elsewhere,
    sqlcipherkit_place_but_one,
    sqlcipherkit_place_other,
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

/* A typed word. `excluded` is 0 for a word that is searched for; otherwise it is the number of a group of words, from 1 to 31, and
 * rows with all words of a group are excluded. `cost`, at least 2, is what a row pays for not having it; a row pays 1 if it has any
 * word with typing errors only and there is an alternative without. `documents` is the approximate number of rows that have it: the
 * rarest word is looked for first. `columns` restricts it to these columns, in ascending order; if `column_count` is 0, it may be
 * in any. */
typedef struct {
    int excluded;
    int cost;
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
    /* The number of slots, among those that are not excluded, that a row must match. */
    int minimum;
    /* If not 0, a row that lacks at most one word in three pays nothing for these if the others stand side by side in the heaviest
     * column, in any order. */
    int may_have_word_too_many;
    /* The ranking rules, in order. */
    const int *rules;
    int rule_count;
    /* The weight of each column. */
    const double *weights;
    /* The number of rows that the alternatives' `documents` refer to. If the index has more rows, its own number is used. */
    sqlite3_int64 rows;
    /* The search ends after about `budget` steps through lists of rows if it has accepted `enough` rows by then, and after `limit`
     * steps in any case. */
    sqlite3_int64 budget;
    sqlite3_int64 limit;
    int enough;
    /* The maximum number of matches to return. */
    int wanted;
    /* If not 0, rows that pay more than the last of the `wanted` rows found need not be found: sqlcipherkit_rule_words must be the
     * first rule, and `is_complete` is 0 if rows were left out. */
    int prunes;
    /* If not NULL, the only rows that are looked at, in ascending order. */
    const sqlite3_int64 *only;
    int only_count;
    /* Judges some rows: writes the factor of each row's relevance, which is below 0 for a row that is rejected and never above
     * `highest_factor`. Returns 0, or -1 to end with SQLITE_ABORT. NULL accepts all rows. It is called for rows that may be among
     * the best, and until it has been called for `judge_all_up_to` rows for all others too. If it rejects no row, `rejects` is 0:
     * rows that are not judged count as accepted then. */
    int (*judge)(void *, const sqlite3_int64 *, int, double *);
    void *context;
    double highest_factor;
    int judge_all_up_to;
    int rejects;
    /* The maximum number of accepted rows whose ids are returned. */
    int listed;
} sqlcipherkit_question;

/* `cost` is what the row pays for words. `before` and `after` are the values of the rules before and after the relevance: lower is
 * better. `relevance` is 0 unless it is a rule; `score` is always bm25, changed by the judge's factor. */
typedef struct {
    sqlite3_int64 row;
    double relevance;
    double score;
    sqlite3_uint64 before;
    sqlite3_uint64 after;
    unsigned char words;
    unsigned char cost;
    unsigned char typos;
    unsigned char field;
    unsigned char place;
    unsigned char exactness;
} sqlcipherkit_match;

/* `rows` has the ids of accepted rows in the order in which they were found: descending, or ascending if `is_ascending`. `total`
 * counts all accepted rows, and `unjudged` those that match but were not judged. `heaviest` is the indexed column with the highest
 * weight, the first of several. */
typedef struct {
    sqlcipherkit_match *matches;
    int count;
    sqlite3_int64 *rows;
    int row_count;
    int row_capacity;
    int is_ascending;
    sqlite3_int64 total;
    sqlite3_int64 unjudged;
    sqlite3_int64 steps;
    int is_complete;
    int heaviest;
} sqlcipherkit_answer;

/* Finds the best rows, best first; of equal rows the one with the higher id. Rows are looked at from the highest id downwards, so
 * that a search that ends before it has seen all rows has seen the newest. Release the answer with sqlcipherkit_answer_free, even
 * after an error. */
int sqlcipherkit_words_match(sqlcipherkit_words *words, const sqlcipherkit_question *question, sqlcipherkit_answer *answer);
void sqlcipherkit_answer_free(sqlcipherkit_answer *answer);
