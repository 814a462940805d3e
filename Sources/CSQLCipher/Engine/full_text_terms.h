/* Finds words of a full-text index by how they begin. engine.c includes this after the amalgamation; nothing else does. */

static int sqlcipherkit_begins(const sqlcipherkit_bytes *term, const u8 *prefix, int count) {
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
    Fts5Config *config = s->words->config;
    sqlcipherkit_bytes from = {0, 0, 0};
    sqlite3_stmt *statement = NULL;
    sqlcipherkit_gap *gaps = NULL;
    int n = 0, capacity = 0, before = s->page, rc = SQLITE_OK;
    sqlcipherkit_append(&rc, &from, s->term.p, s->term.n);
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
            const int page = sqlcipherkit_page(s, statement, 1);
            inside = term != NULL && memcmp(term, prefix, (size_t)sqlcipherkit_lesser(length, count)) == 0;
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
    sqlite3_free(from.p);
    if (rc == SQLITE_OK && n > 0) {
        qsort(gaps, (size_t)n, sizeof *gaps, sqlcipherkit_compare_gaps);
        for (int i = 0; i < sqlcipherkit_lesser(n, pages) && rc == SQLITE_OK; i++) {
            s->is_done = 0;
            sqlcipherkit_enter(s, gaps[i].page);
            while (!s->is_done && !s->is_last) sqlcipherkit_next_term(s);
            if (s->is_done) break;
            if (sqlcipherkit_begins(&s->term, prefix, count)) rc = sqlcipherkit_take_term(s, found, 0);
        }
    }
    sqlite3_free(gaps);
    return rc != SQLITE_OK ? rc : s->words->rc;
}

typedef int (*sqlcipherkit_scan)(sqlcipherkit_segment *, void *, sqlcipherkit_terms *);

/* Calls a function for each segment, the newest first, and merges the results. */
static int sqlcipherkit_each_segment(sqlcipherkit_words *words, sqlcipherkit_scan scan, void *context, sqlcipherkit_terms *found) {
    Fts5Structure *structure = fts5StructureRead(words->index);
    int rc = fts5IndexReturn(words->index);
    for (int level = 0; rc == SQLITE_OK && structure != NULL && level < structure->nLevel; level++) {
        for (int i = structure->aLevel[level].nSeg - 1; i >= 0 && rc == SQLITE_OK; i--) {
            sqlcipherkit_segment s = sqlcipherkit_segment_of(words, &structure->aLevel[level].aSeg[i]);
            if (s.first == 0) continue;
            rc = scan(&s, context, found);
            if (rc == SQLITE_OK) rc = words->rc;
            found->pages += s.pages;
            sqlcipherkit_end_segment(&s);
        }
    }
    fts5StructureRelease(structure);
    words->rc = SQLITE_OK;
    if (rc == SQLITE_OK) sqlcipherkit_merge_terms(found);
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
        if (s->pages >= wanted->pages && s->is_last) {
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
    key[0] = sqlcipherkit_main_index;
    memcpy(key + 1, prefix, (size_t)count);
    sqlcipherkit_beginning wanted = {key, count + 1, exact, pages};
    int rc = sqlcipherkit_each_segment(words, sqlcipherkit_scan_beginning, &wanted, found);
    sqlite3_free(key);
    return rc;
}
