/* Opens the index of a full-text table, and lists words of it. engine.c includes this after the amalgamation; nothing else does. */
#include "../include/full_text.h"

struct sqlcipherkit_words {
    Fts5FullTable *table;
    Fts5Index *index;
    Fts5Config *config;
    /* The first error of reading the index's own tables, the name of that of its pages, and what reads them: a page, the page that
     * a term is on, the next one with a term, a row's sizes. */
    int rc;
    char *pages;
    sqlite3_blob *page;
    sqlite3_stmt *at, *after, *sizes;
    /* The lists that were read (full_text_loaded.h). */
    struct sqlcipherkit_loaded *loaded;
};

static void sqlcipherkit_unload(sqlcipherkit_words *words);

static int sqlcipherkit_words_begin(sqlcipherkit_words *words, Fts5FullTable *table) {
    memset(words, 0, sizeof *words);
    words->table = table;
    words->index = table->p.pIndex;
    words->config = table->p.pConfig;
    words->pages = sqlite3_mprintf("%s_data", words->config->zName);
    return words->pages == NULL ? SQLITE_NOMEM : SQLITE_OK;
}

static void sqlcipherkit_words_end(sqlcipherkit_words *words) {
    sqlcipherkit_unload(words);
    sqlite3_blob_close(words->page);
    sqlite3_finalize(words->at);
    sqlite3_finalize(words->after);
    sqlite3_finalize(words->sizes);
    sqlite3_free(words->pages);
    sqlite3Fts5IndexCloseReader(words->index);
}

int sqlcipherkit_words_open(void *api, sqlite3_int64 cursor, sqlcipherkit_words **words) {
    *words = NULL;
    Fts5FullTable *table = (Fts5FullTable *)sqlite3Fts5TableFromCsrid((Fts5Global *)api, cursor);
    if (table == NULL) return SQLITE_MISUSE;
    sqlcipherkit_words *opened = sqlite3_malloc64(sizeof *opened);
    if (opened == NULL) return SQLITE_NOMEM;
    int rc = sqlcipherkit_words_begin(opened, table);
    /* Writes what the open transaction has changed so far, as a query would. */
    if (rc == SQLITE_OK) {
        fts5IndexFlush(opened->index);
        rc = fts5IndexReturn(opened->index);
    }
    if (rc != SQLITE_OK) {
        sqlcipherkit_words_close(opened);
        return rc;
    }
    *words = opened;
    return SQLITE_OK;
}

void sqlcipherkit_words_close(sqlcipherkit_words *words) {
    if (words == NULL) return;
    sqlcipherkit_words_end(words);
    sqlite3_free(words);
}

/* FTS5 reads the structure of an index again after any change of its content, into memory filled with zeros. So a mark in the
 * structure's padding says that it is still the one that was read before.
 *
 * FTS5's own vocabulary tables hold the structure instead. Then FTS5 may fail to copy it before it changes it: where a level has no
 * segment, fts5StructureMakeWritable goes on with the structure that others hold, and frees it. */
int sqlcipherkit_words_is_same(sqlcipherkit_words *words, void **content) {
    _Static_assert(offsetof(Fts5Structure, nWriteCounter) >= sizeof(int) + sizeof(u32), "the structure has padding");
    Fts5Index *index = words->index;
    Fts5Structure *now = fts5StructureRead(index);
    /* The error occurs again when the index is read. */
    index->rc = SQLITE_OK;
    if (now == NULL) {
        *content = NULL;
        return 0;
    }
    u32 mark;
    u8 *at = (u8 *)now + sizeof(int);
    memcpy(&mark, at, sizeof mark);
    const int is_same = mark != 0 && *content == (void *)(uintptr_t)mark;
    if (!is_same) {
        sqlite3_randomness(sizeof mark, &mark);
        mark |= 1;
        memcpy(at, &mark, sizeof mark);
        *content = (void *)(uintptr_t)mark;
    }
    fts5StructureRelease(now);
    return is_same;
}

/* --- The index's own tables ------------------------------------------------------------------------------------------
 *
 * https://sqlite.org/fts5.html, "FTS5 data structures"; the format is described before fts5_index.c in the amalgamation. */

/* The first byte of a term of the index itself; those of its beginnings have others. */
enum { sqlcipherkit_main_index = '0' };

typedef struct {
    u8 *p;
    int n;
    int room;
} sqlcipherkit_bytes;

/* Makes room for `count` bytes in all. Returns 0 after an error. */
static int sqlcipherkit_make_bytes(int *rc, sqlcipherkit_bytes *bytes, i64 count) {
    if (*rc != SQLITE_OK || count <= bytes->room) return *rc == SQLITE_OK;
    const i64 room = sqlcipherkit_greater(64, count < INT32_MAX / 2 ? 2 * count : count);
    u8 *grown = room > INT32_MAX ? NULL : sqlite3_realloc64(bytes->p, (u64)room);
    if (grown == NULL) {
        *rc = SQLITE_NOMEM;
        return 0;
    }
    bytes->p = grown;
    bytes->room = (int)room;
    return 1;
}

static void sqlcipherkit_append(int *rc, sqlcipherkit_bytes *bytes, const u8 *part, int count) {
    if (count == 0 || !sqlcipherkit_make_bytes(rc, bytes, (i64)bytes->n + count)) return;
    memcpy(bytes->p + bytes->n, part, (size_t)count);
    bytes->n += count;
}

static void sqlcipherkit_set_bytes(int *rc, sqlcipherkit_bytes *bytes, const u8 *part, int count) {
    bytes->n = 0;
    sqlcipherkit_append(rc, bytes, part, count);
}

static void *sqlcipherkit_zeroed(int *rc, i64 size) {
    void *memory = *rc == SQLITE_OK ? sqlite3_malloc64((u64)size) : NULL;
    if (memory != NULL) memset(memory, 0, (size_t)size);
    else if (*rc == SQLITE_OK) *rc = SQLITE_NOMEM;
    return memory;
}

/* A row of the table of pages, which is to be freed. `size` is that of a leaf page without its footer. */
typedef struct {
    int count;
    int size;
    u8 bytes[];
} sqlcipherkit_leaf;

/* Reads a row of the table of pages. Returns NULL after an error, which it keeps. */
static sqlcipherkit_leaf *sqlcipherkit_read_data(sqlcipherkit_words *words, i64 id) {
    if (words->rc != SQLITE_OK) return NULL;
    int rc = words->page == NULL ? SQLITE_ABORT : sqlite3_blob_reopen(words->page, id);
    if (rc == SQLITE_ABORT) {
        /* The rollback of a savepoint ends a handle. */
        sqlite3_blob_close(words->page);
        rc = sqlite3_blob_open(words->config->db, words->config->zDb, words->pages, "block", id, 0, &words->page);
    }
    sqlcipherkit_leaf *leaf = NULL;
    if (rc == SQLITE_OK) {
        const int count = sqlite3_blob_bytes(words->page);
        leaf = sqlite3_malloc64(sizeof *leaf + (u64)count);
        if (leaf != NULL) *leaf = (sqlcipherkit_leaf){count, 0};
        rc = leaf == NULL ? SQLITE_NOMEM : sqlite3_blob_read(words->page, leaf->bytes, count, 0);
    }
    if (rc == SQLITE_OK) return leaf;
    sqlite3_free(leaf);
    /* A table or a row that should be there. */
    words->rc = rc == SQLITE_ERROR ? SQLITE_CORRUPT_VTAB : rc;
    return NULL;
}

/* Prepares a statement when it is first used. Returns NULL after an error, which it keeps. */
static sqlite3_stmt *sqlcipherkit_statement(sqlcipherkit_words *words, sqlite3_stmt **statement, const char *format) {
    if (words->rc != SQLITE_OK) return NULL;
    if (*statement != NULL) return *statement;
    char *sql = sqlite3_mprintf(format, words->config->zDb, words->config->zName);
    words->rc = sql == NULL ? SQLITE_NOMEM
                            : sqlite3_prepare_v3(words->config->db, sql, -1, SQLITE_PREPARE_NO_VTAB, statement, NULL);
    sqlite3_free(sql);
    if (words->rc == SQLITE_ERROR) words->rc = SQLITE_CORRUPT_VTAB;
    return *statement;
}

/* The leaf page that a term is on, by segment and term. */
static sqlite3_stmt *sqlcipherkit_at_statement(sqlcipherkit_words *words) {
    return sqlcipherkit_statement(
        words, &words->at, "SELECT pgno FROM '%q'.'%q_idx' WHERE segid=? AND term<=? ORDER BY term DESC LIMIT 1");
}

/* The next leaf page with a term. */
static sqlite3_stmt *sqlcipherkit_after_statement(sqlcipherkit_words *words) {
    return sqlcipherkit_statement(
        words, &words->after, "SELECT pgno FROM '%q'.'%q_idx' WHERE segid=? AND term>? ORDER BY term LIMIT 1");
}

/* Ends a call: returns its error. */
static int sqlcipherkit_take_error(sqlcipherkit_words *words) {
    const int rc = words->rc;
    words->rc = SQLITE_OK;
    return rc;
}

/* Reads how many words each column of a row has. */
static int sqlcipherkit_read_docsize(sqlcipherkit_words *words, i64 row, int *sizes) {
    sqlite3_stmt *statement = sqlcipherkit_statement(words, &words->sizes, "SELECT sz FROM '%q'.'%q_docsize' WHERE id=?");
    if (statement == NULL) return sqlcipherkit_take_error(words);
    sqlite3_bind_int64(statement, 1, row);
    const int is_there = sqlite3_step(statement) == SQLITE_ROW;
    sqlcipherkit_reader r = {NULL, 0, 0};
    if (is_there) r = (sqlcipherkit_reader){sqlite3_column_blob(statement, 0), 0, sqlite3_column_bytes(statement, 0)};
    for (int i = 0; i < words->config->nCol; i++) sizes[i] = sqlcipherkit_read_size(&r);
    const int rc = sqlite3_reset(statement);
    return rc == SQLITE_OK && r.at != r.end ? SQLITE_CORRUPT_VTAB : rc;
}

/* Reads the number of rows, and of words in each column. */
static int sqlcipherkit_read_averages(sqlcipherkit_words *words, i64 *rows, i64 *sizes) {
    sqlcipherkit_leaf *totals = sqlcipherkit_read_data(words, 1);
    sqlcipherkit_reader r = {totals == NULL ? NULL : totals->bytes, 0, totals == NULL ? 0 : totals->count};
    /* An index that was never written to has none. */
    *rows = r.end == 0 ? 0 : (i64)sqlcipherkit_read_number(&r);
    for (int i = 0; i < words->config->nCol; i++) sizes[i] = r.at >= r.end ? 0 : (i64)sqlcipherkit_read_number(&r);
    if (sqlcipherkit_is_damaged(&r)) words->rc = SQLITE_CORRUPT_VTAB;
    sqlite3_free(totals);
    return sqlcipherkit_take_error(words);
}

int sqlcipherkit_words_facts(sqlcipherkit_words *words, sqlite3_int64 *rows, int *columns, int *detail) {
    i64 count = 0;
    i64 *sizes = sqlite3_malloc64((u64)words->config->nCol * sizeof *sizes);
    if (sizes == NULL) return SQLITE_NOMEM;
    int rc = sqlcipherkit_read_averages(words, &count, sizes);
    sqlite3_free(sizes);
    *columns = words->config->nCol;
    *detail = words->config->eDetail;
    *rows = count;
    return rc;
}

int sqlcipherkit_words_tokenize(
    sqlcipherkit_words *words, int purpose, const char *text, int count, void *context,
    int (*token)(void *, int, const char *, int, int, int)) {
    return sqlite3Fts5Tokenize(words->config, purpose, text, count, context, token);
}

/* --- Stems ------------------------------------------------------------------------------------------------------------ */

typedef struct {
    char *stem;
    int count;
} sqlcipherkit_stem;

static int sqlcipherkit_take_stem(void *context, int flags, const char *token, int count, int start, int end) {
    (void)flags, (void)start, (void)end;
    sqlcipherkit_stem *stem = context;
    memcpy(stem->stem, token, (size_t)count);
    stem->count = count;
    return SQLITE_OK;
}

/* FTS5 leaves longer words as they are. */
enum { sqlcipherkit_longest_stemmed = 64 };

int sqlcipherkit_words_stem(const char *word, int count, char *stem) {
    /* Of a word that one letter is left of, such as "eed", the byte before the buffer is read too. */
    struct {
        char before, buffer[128];
    } space;
    space.before = 0;
    sqlcipherkit_stem result = {stem, 0};
    PorterContext context = {&result, sqlcipherkit_take_stem, space.buffer};
    if (count > sqlcipherkit_longest_stemmed) return 0;
    fts5PorterCb(&context, 0, word, count, 0, count);
    return result.count;
}

/* --- Lists of words --------------------------------------------------------------------------------------------------- */

enum { sqlcipherkit_chunk_size = 16384 };

/* A block of memory for the bytes of words, which follow this header. */
typedef struct sqlcipherkit_chunk {
    struct sqlcipherkit_chunk *before;
    int used;
} sqlcipherkit_chunk;

static int sqlcipherkit_add_term(
    sqlcipherkit_terms *list, const u8 *bytes, int count, int distance, sqlite3_int64 documents) {
    if (list->count == list->capacity) {
        int capacity = list->capacity == 0 ? 64 : list->capacity * 2;
        sqlcipherkit_term *grown = sqlite3_realloc64(list->terms, (u64)capacity * sizeof *grown);
        if (grown == NULL) return SQLITE_NOMEM;
        list->terms = grown;
        list->capacity = capacity;
    }
    sqlcipherkit_chunk *chunk = list->memory;
    if (chunk == NULL || chunk->used + count > sqlcipherkit_chunk_size) {
        chunk = sqlite3_malloc64(sizeof *chunk + (u64)sqlcipherkit_greater(sqlcipherkit_chunk_size, count));
        if (chunk == NULL) return SQLITE_NOMEM;
        chunk->before = list->memory;
        chunk->used = 0;
        list->memory = chunk;
    }
    u8 *copy = (u8 *)(chunk + 1) + chunk->used;
    memcpy(copy, bytes, (size_t)count);
    chunk->used += count;
    list->terms[list->count++] = (sqlcipherkit_term){copy, count, distance, documents};
    return SQLITE_OK;
}

void sqlcipherkit_terms_free(sqlcipherkit_terms *list) {
    sqlcipherkit_chunk *chunk = list->memory;
    while (chunk != NULL) {
        sqlcipherkit_chunk *before = chunk->before;
        sqlite3_free(chunk);
        chunk = before;
    }
    sqlite3_free(list->terms);
    memset(list, 0, sizeof *list);
}

static int sqlcipherkit_compare_bytes(const u8 *a, int an, const u8 *b, int bn) {
    int order = memcmp(a, b, (size_t)sqlcipherkit_lesser(an, bn));
    return order != 0 ? order : an - bn;
}

static int sqlcipherkit_compare_terms(const void *a, const void *b) {
    const sqlcipherkit_term *x = a, *y = b;
    return sqlcipherkit_compare_bytes(x->bytes, x->count, y->bytes, y->count);
}

/* Sorts the list, and merges the entries of a word that is in several segments. */
static void sqlcipherkit_merge_terms(sqlcipherkit_terms *list) {
    int i = 1;
    while (i < list->count && sqlcipherkit_compare_terms(&list->terms[i - 1], &list->terms[i]) < 0) i++;
    if (i >= list->count) return;
    qsort(list->terms, (size_t)list->count, sizeof *list->terms, sqlcipherkit_compare_terms);
    int last = 0;
    for (i = 1; i < list->count; i++) {
        sqlcipherkit_term *kept = &list->terms[last], *next = &list->terms[i];
        if (sqlcipherkit_compare_terms(kept, next) == 0) {
            kept->documents += next->documents;
            kept->distance = sqlcipherkit_lesser(kept->distance, next->distance);
        } else {
            list->terms[++last] = *next;
        }
    }
    list->count = last + 1;
}
