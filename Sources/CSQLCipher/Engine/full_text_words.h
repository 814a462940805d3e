/* Opens the index of a full-text table, and lists words of it. engine.c includes this after the amalgamation; nothing else does. */
#include "../include/full_text.h"

struct sqlcipherkit_words {
    Fts5FullTable *table;
    Fts5Index *index;
    Fts5Config *config;
    /* The lists that were read (full_text_loaded.h). */
    struct sqlcipherkit_loaded *loaded;
};

static void sqlcipherkit_unload(sqlcipherkit_words *words);

int sqlcipherkit_words_open(void *api, sqlite3_int64 cursor, sqlcipherkit_words **words) {
    *words = NULL;
    Fts5FullTable *table = (Fts5FullTable *)sqlite3Fts5TableFromCsrid((Fts5Global *)api, cursor);
    if (table == NULL) return SQLITE_MISUSE;
    sqlcipherkit_words *opened = sqlite3_malloc64(sizeof *opened);
    if (opened == NULL) return SQLITE_NOMEM;
    opened->table = table;
    opened->index = table->p.pIndex;
    opened->config = table->p.pConfig;
    opened->loaded = NULL;
    /* Writes what the open transaction has changed so far, as a query would. */
    fts5IndexFlush(opened->index);
    int rc = fts5IndexReturn(opened->index);
    if (rc != SQLITE_OK) {
        sqlite3_free(opened);
        return rc;
    }
    *words = opened;
    return SQLITE_OK;
}

void sqlcipherkit_words_close(sqlcipherkit_words *words) {
    if (words == NULL) return;
    sqlcipherkit_unload(words);
    sqlite3Fts5IndexCloseReader(words->index);
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

int sqlcipherkit_words_facts(sqlcipherkit_words *words, sqlite3_int64 *rows, int *columns, int *detail) {
    i64 count = 0;
    i64 *sizes = sqlite3_malloc64((u64)words->config->nCol * sizeof *sizes);
    if (sizes == NULL) return SQLITE_NOMEM;
    int rc = sqlite3Fts5IndexGetAverages(words->index, &count, sizes);
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

int sqlcipherkit_words_stem(const char *word, int count, char *stem) {
    /* Of a word that one letter is left of, such as "eed", the byte before the buffer is read too. */
    struct {
        char before, buffer[128];
    } space;
    space.before = 0;
    sqlcipherkit_stem result = {stem, 0};
    PorterContext context = {&result, sqlcipherkit_take_stem, space.buffer};
    if (count > FTS5_PORTER_MAX_TOKEN) return 0;
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
        chunk = sqlite3_malloc64(sizeof *chunk + (u64)MAX(sqlcipherkit_chunk_size, count));
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
    int order = memcmp(a, b, (size_t)MIN(an, bn));
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
            kept->distance = MIN(kept->distance, next->distance);
        } else {
            list->terms[++last] = *next;
        }
    }
    list->count = last + 1;
}
