/* Walks through the words of a segment of a full-text index. engine.c includes this after the amalgamation; nothing else does.
 *
 * FTS5's iterators visit every row of a word to reach the next word. Two other places lead there directly: the footer of a leaf
 * page lists where its terms begin, and the table of leaf pages tells which is the next page with a term
 * (https://sqlite.org/fts5.html, "FTS5 data structures"; the format is described before fts5_index.c in the amalgamation). */

typedef struct {
    sqlcipherkit_words *words;
    int segment;
    int first;
    int last;
    /* The page, its footer from the next term's distance on, the offset of this term, whether it is the last one on the page, and
     * where its list begins and ends. */
    sqlcipherkit_leaf *leaf;
    int page;
    sqlcipherkit_reader footer;
    int offset;
    int is_last;
    int list;
    int end;
    sqlcipherkit_bytes term;
    /* The number of bytes that it is known to share with the term before it on the page. */
    int keep;
    int is_done;
    int pages;
} sqlcipherkit_segment;

/* Reads a leaf page. Its first two bytes say where its first row id is, the next two where its footer begins. */
static sqlcipherkit_leaf *sqlcipherkit_read_leaf(const sqlcipherkit_segment *s, int page) {
    sqlcipherkit_leaf *leaf = sqlcipherkit_read_data(s->words, ((i64)s->segment << 37) + page);
    if (leaf == NULL) return NULL;
    leaf->size = leaf->count < 4 ? 0 : leaf->bytes[2] << 8 | leaf->bytes[3];
    if (leaf->size >= 4 && leaf->size <= leaf->count) return leaf;
    s->words->rc = SQLITE_CORRUPT_VTAB;
    sqlite3_free(leaf);
    return NULL;
}

/* The place of the first row id that begins on the page; 0 for none. */
static int sqlcipherkit_first_row(const sqlcipherkit_leaf *leaf) { return leaf->bytes[0] << 8 | leaf->bytes[1]; }

static int sqlcipherkit_is_termless(const sqlcipherkit_leaf *leaf) { return leaf->size >= leaf->count; }

/* A segment's number has 16 bits in the row ids of its pages. The number after a page's is one too. */
static sqlcipherkit_segment sqlcipherkit_segment_of(sqlcipherkit_words *words, const Fts5StructureSegment *stored) {
    if (stored->iSegid > 0xffff) words->rc = SQLITE_CORRUPT_VTAB;
    return (sqlcipherkit_segment){.words = words, .segment = stored->iSegid, .first = stored->pgnoFirst,
                                  .last = sqlcipherkit_lesser(stored->pgnoLast, INT32_MAX - 1)};
}

static void sqlcipherkit_leave(sqlcipherkit_segment *s) {
    sqlite3_free(s->leaf);
    s->leaf = NULL;
}

static void sqlcipherkit_end_segment(sqlcipherkit_segment *s) {
    sqlcipherkit_leave(s);
    sqlite3_free(s->term.p);
    s->term = (sqlcipherkit_bytes){0};
    s->is_done = 1;
}

/* Returns the page in a column of the table of leaf pages; 0 for one that the segment does not have. */
static int sqlcipherkit_page(const sqlcipherkit_segment *s, sqlite3_stmt *statement, int column) {
    const i64 page = sqlite3_column_int64(statement, column) >> 1;
    return page < s->first || page > s->last ? 0 : (int)page;
}

/* Returns the page that a statement over the table of leaf pages finds for a term; 0 if there is none. */
static int sqlcipherkit_find_page(sqlcipherkit_segment *s, sqlite3_stmt *statement, const u8 *term, int count) {
    int page = 0;
    if (statement == NULL) return 0;
    sqlite3_bind_int(statement, 1, s->segment);
    sqlite3_bind_blob(statement, 2, term, count, SQLITE_STATIC);
    if (sqlite3_step(statement) == SQLITE_ROW) page = sqlcipherkit_page(s, statement, 0);
    int rc = sqlite3_reset(statement);
    sqlite3_bind_null(statement, 2);
    if (s->words->rc == SQLITE_OK) s->words->rc = rc;
    return page;
}

/* Finds the end of the list of the term at s->offset, which begins at `list` or later. If the page is damaged, sets the error. */
static void sqlcipherkit_find_end(sqlcipherkit_segment *s, int list) {
    const int rest = s->leaf->size - s->offset;
    s->is_last = s->footer.at >= s->footer.end;
    const int step = s->is_last ? rest : sqlcipherkit_read_size(&s->footer);
    if (step > rest || s->offset + step < list || sqlcipherkit_is_damaged(&s->footer)) s->words->rc = SQLITE_CORRUPT_VTAB;
    else s->end = s->offset + step;
}

/* Reads the term at s->offset of the page. If the page is damaged, sets the error. */
static void sqlcipherkit_read_term(sqlcipherkit_segment *s, int is_first) {
    sqlcipherkit_reader r = {s->leaf->bytes, s->offset, s->leaf->size};
    const int keep = is_first ? 0 : sqlcipherkit_read_size(&r), count = sqlcipherkit_read_size(&r);
    const u8 *bytes = sqlcipherkit_read_part(&r, count);
    if (bytes == NULL || count < 1 || keep > s->term.n) {
        s->words->rc = SQLITE_CORRUPT_VTAB;
        return;
    }
    s->term.n = s->keep = keep;
    sqlcipherkit_append(&s->words->rc, &s->term, bytes, count);
    s->list = r.at;
    sqlcipherkit_find_end(s, s->list);
}

/* Goes to the first term of the first page, from `page` on, that has terms. */
static void sqlcipherkit_enter(sqlcipherkit_segment *s, int page) {
    sqlcipherkit_leave(s);
    for (; page <= s->last && s->words->rc == SQLITE_OK; page++) {
        s->leaf = sqlcipherkit_read_leaf(s, page);
        s->pages++;
        if (s->leaf == NULL) break;
        if (!sqlcipherkit_is_termless(s->leaf)) {
            s->page = page;
            s->footer = (sqlcipherkit_reader){s->leaf->bytes, s->leaf->size, s->leaf->count};
            s->offset = sqlcipherkit_read_size(&s->footer);
            if (s->offset < 4) s->words->rc = SQLITE_CORRUPT_VTAB;
            else sqlcipherkit_read_term(s, 1);
            if (s->words->rc == SQLITE_OK) return;
            break;
        }
        sqlcipherkit_leave(s);
    }
    sqlcipherkit_end_segment(s);
}

/* Returns the page of the term after the last one of this page; 0 if there is none. */
static int sqlcipherkit_page_after(sqlcipherkit_segment *s) {
    return sqlcipherkit_find_page(s, sqlcipherkit_after_statement(s->words), s->term.p, s->term.n);
}

static void sqlcipherkit_next_term(sqlcipherkit_segment *s) {
    if (!s->is_last) {
        s->offset = s->end;
        sqlcipherkit_read_term(s, 0);
        if (s->words->rc != SQLITE_OK) sqlcipherkit_end_segment(s);
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
    while (!s->is_last) {
        sqlcipherkit_reader r = {s->leaf->bytes, s->end, s->leaf->size};
        const int is_wanted = sqlcipherkit_read_size(&r) <= same;
        s->offset = s->end;
        if (is_wanted) {
            sqlcipherkit_set_bytes(&s->words->rc, &s->term, target, same);
            sqlcipherkit_read_term(s, 0);
        } else {
            sqlcipherkit_find_end(s, r.at);
        }
        if (s->words->rc != SQLITE_OK) sqlcipherkit_end_segment(s);
        if (is_wanted || s->is_done) return !s->is_done;
    }
    sqlcipherkit_set_bytes(&s->words->rc, &s->term, target, count);
    return 0;
}

/* Goes to the first term not less than `target`, if this page has it. Terms are sorted, so most of them need not be compared: a
 * term that shares more with the term before it than that one shares with the target is less than the target as well, and one that
 * shares less is greater. */
static int sqlcipherkit_pass(sqlcipherkit_segment *s, const u8 *target, int count) {
    int same = 0;
    do {
        const int limit = sqlcipherkit_lesser(s->term.n, count);
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
    int page = sqlcipherkit_find_page(s, sqlcipherkit_at_statement(s->words), target, count);
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

/* Counts the rows of a list. It begins with a row id. For each row, the size of its positions follows, then the positions, then the
 * difference to the next row id. */
static sqlite3_int64 sqlcipherkit_count_rows(const sqlcipherkit_segment *s, const sqlcipherkit_leaf *leaf, int offset, int end) {
    sqlcipherkit_reader r = {leaf->bytes, offset, end};
    sqlite3_int64 count = 0;
    for (; r.at < r.end; count++) {
        sqlcipherkit_read_number(&r);
        if (s->words->config->eDetail != FTS5_DETAIL_NONE) sqlcipherkit_read_part(&r, sqlcipherkit_read_size(&r) >> 1);
    }
    return count;
}

/* Returns the offset of a page's first term: the page's end if it has none, and 0 after damage. */
static int sqlcipherkit_first_term(const sqlcipherkit_leaf *leaf) {
    sqlcipherkit_reader footer = {leaf->bytes, leaf->size, leaf->count};
    const int offset = sqlcipherkit_is_termless(leaf) ? leaf->size : sqlcipherkit_read_size(&footer);
    return offset <= leaf->size ? offset : 0;
}

/* Counts the rows that begin on a page before its first term: they belong to the last term of a page before. */
static sqlite3_int64 sqlcipherkit_count_further(sqlcipherkit_segment *s, int page) {
    sqlcipherkit_leaf *leaf = sqlcipherkit_read_leaf(s, page);
    if (leaf == NULL) return 0;
    const int end = sqlcipherkit_first_term(leaf);
    int first = sqlcipherkit_first_row(leaf);
    sqlite3_int64 count = first < 4 ? 0 : sqlcipherkit_count_rows(s, leaf, first, end);
    sqlite3_free(leaf);
    return count;
}

/* Computes the number of rows of the current term's list: an approximate one if it is on more than four pages, for then the first
 * and the last of those in the middle stand for all. */
static sqlite3_int64 sqlcipherkit_measure(sqlcipherkit_segment *s) {
    sqlite3_int64 count = sqlcipherkit_count_rows(s, s->leaf, s->list, s->end);
    if (!s->is_last || s->page == s->last) return count;
    int after = sqlcipherkit_page_after(s);
    if (after == 0) after = s->last + 1;
    const sqlite3_int64 between = after - s->page - 1;
    if (between > 0) {
        sqlite3_int64 first = sqlcipherkit_count_further(s, s->page + 1);
        sqlite3_int64 last = between > 1 ? sqlcipherkit_count_further(s, after - 1) : first;
        count += between * (first + last) / 2;
    }
    return after > s->page && after <= s->last ? count + sqlcipherkit_count_further(s, after) : count;
}

static int sqlcipherkit_take_term(sqlcipherkit_segment *s, sqlcipherkit_terms *found, int distance) {
    sqlite3_int64 documents = sqlcipherkit_measure(s);
    if (s->words->rc != SQLITE_OK) return s->words->rc;
    return sqlcipherkit_add_term(found, s->term.p + 1, s->term.n - 1, distance, documents);
}
