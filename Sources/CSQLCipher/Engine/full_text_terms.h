/* Reads the words of a full-text index. engine.c includes this after the amalgamation; nothing else does.
 *
 * FTS5's iterators visit every row of a word to reach the next word. Two other places lead there directly: the footer of a leaf
 * page lists where its terms begin, and the table of leaf pages tells which is the next page with a term
 * (https://sqlite.org/fts5.html, "FTS5 data structures"; the format is described before fts5_index.c in the amalgamation). */
#include "../include/full_text.h"

struct sqlcipherkit_words {
    Fts5FullTable *table;
    Fts5Index *index;
    Fts5Config *config;
};

int sqlcipherkit_words_open(void *api, sqlite3_int64 cursor, sqlcipherkit_words **words) {
    *words = NULL;
    Fts5FullTable *table = (Fts5FullTable *)sqlite3Fts5TableFromCsrid((Fts5Global *)api, cursor);
    if (table == NULL) return SQLITE_MISUSE;
    sqlcipherkit_words *opened = sqlite3_malloc64(sizeof *opened);
    if (opened == NULL) return SQLITE_NOMEM;
    opened->table = table;
    opened->index = table->p.pIndex;
    opened->config = table->p.pConfig;
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
    sqlite3Fts5IndexCloseReader(words->index);
    sqlite3_free(words);
}

/* Does the same as FTS5's own vocabulary tables: FTS5 reads the structure of an index again after any change of its content, and
 * while the previous structure is held, the new one has another address. */
int sqlcipherkit_words_is_same(sqlcipherkit_words *words, void **content) {
    Fts5Index *index = words->index;
    void *now = fts5StructureRead(index);
    const int is_same = now != NULL && now == *content;
    /* The error occurs again when the index is read. */
    index->rc = SQLITE_OK;
    sqlite3Fts5StructureRelease(*content);
    *content = now;
    return is_same;
}

void sqlcipherkit_words_forget(void *content) { sqlite3Fts5StructureRelease(content); }

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
    char buffer[128];
    sqlcipherkit_stem result = {stem, 0};
    PorterContext context = {&result, sqlcipherkit_take_stem, buffer};
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
    sqlcipherkit_terms *list, const u8 *bytes, int count, int distance, sqlite3_int64 size, sqlite3_int64 documents) {
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
    list->terms[list->count++] = (sqlcipherkit_term){copy, count, distance, size, documents};
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
            kept->size += next->size;
            kept->documents += next->documents;
            kept->distance = MIN(kept->distance, next->distance);
        } else {
            list->terms[++last] = *next;
        }
    }
    list->count = last + 1;
}

/* --- A segment's terms ------------------------------------------------------------------------------------------------ */

typedef struct {
    Fts5Index *index;
    int segment;
    int first;
    int last;
    /* The page, the position in its footer with the next term's offset, the offset of this term, and where this term's list begins
     * and ends. */
    Fts5Data *leaf;
    int page;
    int footer;
    int offset;
    int list;
    int end;
    Fts5Buffer term;
    /* The number of bytes that it is known to share with the term before it on the page. */
    int keep;
    int is_done;
    int pages;
} sqlcipherkit_segment;

static void sqlcipherkit_leave(sqlcipherkit_segment *s) {
    fts5DataRelease(s->leaf);
    s->leaf = NULL;
}

static void sqlcipherkit_end_segment(sqlcipherkit_segment *s) {
    sqlcipherkit_leave(s);
    fts5BufferFree(&s->term);
    s->is_done = 1;
}

/* Returns the page that a statement over the table of leaf pages finds for a term; 0 if there is none. */
static int sqlcipherkit_find_page(sqlcipherkit_segment *s, sqlite3_stmt *statement, const u8 *term, int count) {
    int page = 0;
    if (statement == NULL || s->index->rc != SQLITE_OK) return 0;
    sqlite3_bind_int(statement, 1, s->segment);
    sqlite3_bind_blob(statement, 2, term, count, SQLITE_STATIC);
    if (sqlite3_step(statement) == SQLITE_ROW) page = (int)(sqlite3_column_int64(statement, 0) >> 1);
    int rc = sqlite3_reset(statement);
    sqlite3_bind_null(statement, 2);
    if (s->index->rc == SQLITE_OK) s->index->rc = rc;
    return page;
}

/* Reads the term at s->offset of the page. If the page is damaged, sets index->rc. */
static void sqlcipherkit_read_term(sqlcipherkit_segment *s, int is_first) {
    const u8 *a = s->leaf->p;
    int offset = s->offset, keep = 0, count = 0, next = 0;
    if (!is_first) {
        fts5FastGetVarint32(a, offset, keep);
    }
    fts5FastGetVarint32(a, offset, count);
    if (count < 1 || keep < 0 || keep > s->term.n || offset > s->leaf->szLeaf - count) {
        s->index->rc = FTS5_CORRUPT;
        return;
    }
    s->term.n = s->keep = keep;
    fts5BufferAppendBlob(&s->index->rc, &s->term, (u32)count, &a[offset]);
    s->list = offset + count;
    s->end = s->leaf->szLeaf;
    if (s->footer < s->leaf->nn) {
        int step = 0;
        s->footer += fts5GetVarint32(&a[s->footer], step);
        next = s->offset + step;
        if (step <= 0 || next > s->leaf->szLeaf || next < s->list) {
            s->index->rc = FTS5_CORRUPT;
            return;
        }
        s->end = next;
    } else {
        s->footer = s->leaf->nn + 1;
    }
}

/* Goes to the first term of the first page, from `page` on, that has terms. */
static void sqlcipherkit_enter(sqlcipherkit_segment *s, int page) {
    sqlcipherkit_leave(s);
    Fts5Index *p = s->index;
    for (; page <= s->last && p->rc == SQLITE_OK; page++) {
        s->leaf = fts5LeafRead(p, FTS5_SEGMENT_ROWID(s->segment, page));
        s->pages++;
        if (s->leaf == NULL) break;
        if (!fts5LeafIsTermless(s->leaf)) {
            int offset = 0;
            s->page = page;
            s->footer = s->leaf->szLeaf;
            s->footer += fts5GetVarint32(&s->leaf->p[s->footer], offset);
            if (offset < 4 || offset >= s->leaf->szLeaf) {
                p->rc = FTS5_CORRUPT;
                break;
            }
            s->offset = offset;
            sqlcipherkit_read_term(s, 1);
            if (p->rc == SQLITE_OK) return;
            break;
        }
        sqlcipherkit_leave(s);
    }
    sqlcipherkit_end_segment(s);
}

static int sqlcipherkit_is_last_on_page(const sqlcipherkit_segment *s) { return s->footer > s->leaf->nn; }

/* Returns the page of the term after the last one of this page; 0 if there is none. */
static int sqlcipherkit_page_after(sqlcipherkit_segment *s) {
    return sqlcipherkit_find_page(s, fts5IdxNextStmt(s->index), s->term.p, s->term.n);
}

static void sqlcipherkit_next_term(sqlcipherkit_segment *s) {
    if (!sqlcipherkit_is_last_on_page(s)) {
        s->offset = s->end;
        sqlcipherkit_read_term(s, 0);
        if (s->index->rc != SQLITE_OK) sqlcipherkit_end_segment(s);
        return;
    }
    int page = sqlcipherkit_page_after(s);
    if (page <= s->page) return sqlcipherkit_end_segment(s);
    sqlcipherkit_enter(s, page);
}

/* Goes to the next term of the page that shares no more than `same` bytes with the term before it. All terms in between begin with
 * the same bytes as `target` up to there and beyond, so their own bytes need not be read. Returns 0 if there is no such term; the
 * segment is then behind them all, and `target` counts as its term. */
static int sqlcipherkit_skip(sqlcipherkit_segment *s, const u8 *target, int count, int same) {
    Fts5Data *leaf = s->leaf;
    while (!sqlcipherkit_is_last_on_page(s)) {
        int keep = 0, step = 0, offset = s->offset = s->end;
        fts5FastGetVarint32(leaf->p, offset, keep);
        if (keep <= same) {
            fts5BufferSet(&s->index->rc, &s->term, same, target);
            sqlcipherkit_read_term(s, 0);
            if (s->index->rc != SQLITE_OK) sqlcipherkit_end_segment(s);
            return !s->is_done;
        }
        if (s->footer < leaf->nn) {
            s->footer += fts5GetVarint32(&leaf->p[s->footer], step);
            s->end = s->offset + step;
            if (step <= 0 || s->end > leaf->szLeaf) {
                s->index->rc = FTS5_CORRUPT;
                sqlcipherkit_end_segment(s);
                return 0;
            }
        } else {
            s->footer = leaf->nn + 1;
        }
    }
    fts5BufferSet(&s->index->rc, &s->term, count, target);
    return 0;
}

/* Goes to the first term not less than `target`, if this page has it. Terms are sorted, so most of them need not be compared: a
 * term that shares more with the term before it than that one shares with the target is less than the target as well, and one that
 * shares less is greater. */
static int sqlcipherkit_pass(sqlcipherkit_segment *s, const u8 *target, int count) {
    int same = 0;
    do {
        const int limit = MIN(s->term.n, count);
        while (same < limit && s->term.p[same] == target[same]) same++;
        if (same < limit ? s->term.p[same] > target[same] : s->term.n >= count) return 1;
        if (!sqlcipherkit_skip(s, target, count, same)) return 0;
    } while (s->keep == same);
    return 1;
}

/* Goes to the first term not less than `target`; never goes back. */
static void sqlcipherkit_seek(sqlcipherkit_segment *s, const u8 *target, int count) {
    if (s->is_done) return;
    /* Most steps stay on the page. */
    if (s->leaf != NULL && sqlcipherkit_pass(s, target, count)) return;
    if (s->is_done) return;
    int page = sqlcipherkit_find_page(s, fts5IdxSelectStmt(s->index), target, count);
    if (page < s->first) page = s->first;
    if (s->leaf != NULL && page <= s->page) {
        sqlcipherkit_next_term(s);
    } else {
        sqlcipherkit_enter(s, page);
    }
    while (!s->is_done && !sqlcipherkit_pass(s, target, count)) {
        if (!s->is_done) sqlcipherkit_next_term(s);
    }
}

/* Computes the approximate number of bytes and rows of the current term's list. */
static void sqlcipherkit_measure(sqlcipherkit_segment *s, sqlite3_int64 *size, sqlite3_int64 *documents) {
    const u8 *a = s->leaf->p;
    const int detail = s->index->pConfig->eDetail;
    sqlite3_int64 count = 0;
    int offset = s->list;
    /* A list begins with a row id. For each row, the size of its positions follows, then the positions, then the difference to the
     * next row id. */
    while (offset < s->end) {
        u64 row;
        offset += sqlite3Fts5GetVarint(&a[offset], &row);
        count++;
        if (detail == FTS5_DETAIL_NONE) continue;
        int positions = 0;
        if (offset >= s->end) break;
        fts5FastGetVarint32(a, offset, positions);
        if ((positions >> 1) > s->end - offset) break;
        offset += positions >> 1;
    }
    *size = s->end - s->list;
    *documents = count;
    if (sqlcipherkit_is_last_on_page(s)) {
        int after = sqlcipherkit_page_after(s);
        if (after == 0) after = s->last + 1;
        sqlite3_int64 further = MAX(0, after - s->page - 1);
        if (further > 0) {
            sqlite3_int64 bytes = further * s->index->pConfig->pgsz;
            double each = count > 8 ? (double)*size / (double)count : 5;
            *size += bytes;
            *documents += (sqlite3_int64)((double)bytes / MAX(1, each));
        }
    }
}

static int sqlcipherkit_take_term(sqlcipherkit_segment *s, sqlcipherkit_terms *found, int distance) {
    sqlite3_int64 size = 0, documents = 0;
    sqlcipherkit_measure(s, &size, &documents);
    if (s->index->rc != SQLITE_OK) return s->index->rc;
    return sqlcipherkit_add_term(found, s->term.p + 1, s->term.n - 1, distance, size, documents);
}

/* --- Beginnings ------------------------------------------------------------------------------------------------------- */

static int sqlcipherkit_begins(const Fts5Buffer *term, const u8 *prefix, int count) {
    return term->n >= count && memcmp(term->p, prefix, (size_t)count) == 0;
}

typedef struct {
    int page;
    int gap;
} sqlcipherkit_gap;

static int sqlcipherkit_compare_gaps(const void *a, const void *b) {
    const sqlcipherkit_gap *x = a, *y = b;
    return x->gap != y->gap ? (x->gap < y->gap ? 1 : -1) : (x->page < y->page ? -1 : 1);
}

/* Finds words with long lists: in the table of leaf pages, the last word before a gap of one or more pages without any term. */
static int sqlcipherkit_frequent(sqlcipherkit_segment *s, const u8 *prefix, int count, int pages, sqlcipherkit_terms *found) {
    Fts5Config *config = s->index->pConfig;
    Fts5Buffer from = {0, 0, 0};
    sqlite3_stmt *statement = NULL;
    sqlcipherkit_gap *gaps = NULL;
    int n = 0, capacity = 0, before = s->page, rc = SQLITE_OK;
    fts5BufferSet(&rc, &from, s->term.n, s->term.p);
    char *sql = sqlite3_mprintf(
        "SELECT term, pgno FROM '%q'.'%q_idx' WHERE segid=? AND term>? ORDER BY term", config->zDb, config->zName);
    if (rc == SQLITE_OK && sql == NULL) rc = SQLITE_NOMEM;
    if (rc == SQLITE_OK) rc = sqlite3_prepare_v3(config->db, sql, -1, SQLITE_PREPARE_NO_VTAB, &statement, NULL);
    sqlite3_free(sql);
    if (rc == SQLITE_OK) {
        sqlite3_bind_int(statement, 1, s->segment);
        sqlite3_bind_blob(statement, 2, from.p, from.n, SQLITE_STATIC);
        int inside = 1;
        while (inside && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
            const u8 *term = sqlite3_column_blob(statement, 0);
            int length = sqlite3_column_bytes(statement, 0);
            int page = (int)(sqlite3_column_int64(statement, 1) >> 1);
            inside = term != NULL && memcmp(term, prefix, (size_t)MIN(length, count)) == 0;
            if (page - before > 1) {
                if (n == capacity) {
                    capacity = capacity == 0 ? 64 : capacity * 2;
                    sqlcipherkit_gap *grown = sqlite3_realloc64(gaps, (u64)capacity * sizeof *gaps);
                    if (grown == NULL) {
                        rc = SQLITE_NOMEM;
                        break;
                    }
                    gaps = grown;
                }
                gaps[n++] = (sqlcipherkit_gap){before, page - before};
            }
            before = page;
        }
        if (rc == SQLITE_ROW || rc == SQLITE_DONE) rc = SQLITE_OK;
    }
    sqlite3_finalize(statement);
    fts5BufferFree(&from);
    if (rc == SQLITE_OK && n > 0) {
        qsort(gaps, (size_t)n, sizeof *gaps, sqlcipherkit_compare_gaps);
        for (int i = 0; i < MIN(n, pages) && rc == SQLITE_OK; i++) {
            s->is_done = 0;
            sqlcipherkit_enter(s, gaps[i].page);
            while (!s->is_done && !sqlcipherkit_is_last_on_page(s)) sqlcipherkit_next_term(s);
            if (s->is_done) break;
            if (sqlcipherkit_begins(&s->term, prefix, count)) rc = sqlcipherkit_take_term(s, found, 0);
        }
    }
    sqlite3_free(gaps);
    return rc != SQLITE_OK ? rc : s->index->rc;
}

typedef int (*sqlcipherkit_scan)(sqlcipherkit_segment *, void *, sqlcipherkit_terms *);

/* Calls a function for each segment, the newest first, and merges the results. */
static int sqlcipherkit_each_segment(sqlcipherkit_words *words, sqlcipherkit_scan scan, void *context, sqlcipherkit_terms *found) {
    Fts5Index *index = words->index;
    Fts5Structure *structure = fts5StructureRead(index);
    int rc = index->rc;
    for (int level = 0; rc == SQLITE_OK && structure != NULL && level < structure->nLevel; level++) {
        for (int i = structure->aLevel[level].nSeg - 1; i >= 0 && rc == SQLITE_OK; i--) {
            const Fts5StructureSegment *segment = &structure->aLevel[level].aSeg[i];
            if (segment->pgnoFirst == 0) continue;
            sqlcipherkit_segment s = {.index = index, .segment = segment->iSegid, .first = segment->pgnoFirst,
                                      .last = segment->pgnoLast};
            rc = scan(&s, context, found);
            if (rc == SQLITE_OK) rc = index->rc;
            found->pages += s.pages;
            sqlcipherkit_end_segment(&s);
        }
    }
    fts5StructureRelease(structure);
    index->rc = SQLITE_OK;
    if (rc != SQLITE_OK) {
        sqlite3Fts5IndexCloseReader(index);
        index->rc = SQLITE_OK;
    } else {
        sqlcipherkit_merge_terms(found);
    }
    return rc;
}

typedef struct {
    const u8 *prefix;
    int count;
    int exact;
    int pages;
} sqlcipherkit_beginning;

static int sqlcipherkit_scan_beginning(sqlcipherkit_segment *s, void *context, sqlcipherkit_terms *found) {
    const sqlcipherkit_beginning *wanted = context;
    int rc = SQLITE_OK;
    sqlcipherkit_seek(s, wanted->prefix, wanted->count);
    while (rc == SQLITE_OK && !s->is_done && sqlcipherkit_begins(&s->term, wanted->prefix, wanted->count)) {
        if (wanted->exact && s->term.n != wanted->count) break;
        rc = sqlcipherkit_take_term(s, found, 0);
        if (wanted->exact || rc != SQLITE_OK) break;
        if (s->pages >= wanted->pages && sqlcipherkit_is_last_on_page(s)) {
            found->is_complete = 0;
            rc = sqlcipherkit_frequent(s, wanted->prefix, wanted->count, wanted->pages * 2, found);
            break;
        }
        sqlcipherkit_next_term(s);
    }
    return rc;
}

int sqlcipherkit_words_beginning(
    sqlcipherkit_words *words, const char *prefix, int count, int exact, int pages, sqlcipherkit_terms *found) {
    memset(found, 0, sizeof *found);
    found->is_complete = 1;
    u8 *key = sqlite3_malloc64((u64)count + 1);
    if (key == NULL) return SQLITE_NOMEM;
    key[0] = FTS5_MAIN_PREFIX;
    memcpy(key + 1, prefix, (size_t)count);
    sqlcipherkit_beginning wanted = {key, count + 1, exact, pages};
    int rc = sqlcipherkit_each_segment(words, sqlcipherkit_scan_beginning, &wanted, found);
    sqlite3_free(key);
    return rc;
}
