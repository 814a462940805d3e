/* Walks through the words of a segment of a full-text index. engine.c includes this after the amalgamation; nothing else does.
 *
 * FTS5's iterators visit every row of a word to reach the next word. Two other places lead there directly: the footer of a leaf
 * page lists where its terms begin, and the table of leaf pages tells which is the next page with a term
 * (https://sqlite.org/fts5.html, "FTS5 data structures"; the format is described before fts5_index.c in the amalgamation). */

typedef struct {
    Fts5Index *index;
    int segment;
    int first;
    int last;
    /* The page, its footer from the next term's distance on, the offset of this term, whether it is the last one on the page, and
     * where its list begins and ends. */
    Fts5Data *leaf;
    int page;
    sqlcipherkit_reader footer;
    int offset;
    int is_last;
    int list;
    int end;
    Fts5Buffer term;
    /* The number of bytes that it is known to share with the term before it on the page. */
    int keep;
    int is_done;
    int pages;
} sqlcipherkit_segment;

/* A segment's number has 16 bits in the row ids of its pages. The number after a page's is one too. */
static sqlcipherkit_segment sqlcipherkit_segment_of(Fts5Index *index, const Fts5StructureSegment *stored) {
    if (stored->iSegid > 0xffff) index->rc = FTS5_CORRUPT;
    return (sqlcipherkit_segment){.index = index, .segment = stored->iSegid, .first = stored->pgnoFirst,
                                  .last = MIN(stored->pgnoLast, LARGEST_INT32 - 1)};
}

static void sqlcipherkit_leave(sqlcipherkit_segment *s) {
    fts5DataRelease(s->leaf);
    s->leaf = NULL;
}

static void sqlcipherkit_end_segment(sqlcipherkit_segment *s) {
    sqlcipherkit_leave(s);
    fts5BufferFree(&s->term);
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
    if (statement == NULL || s->index->rc != SQLITE_OK) return 0;
    sqlite3_bind_int(statement, 1, s->segment);
    sqlite3_bind_blob(statement, 2, term, count, SQLITE_STATIC);
    if (sqlite3_step(statement) == SQLITE_ROW) page = sqlcipherkit_page(s, statement, 0);
    int rc = sqlite3_reset(statement);
    sqlite3_bind_null(statement, 2);
    if (s->index->rc == SQLITE_OK) s->index->rc = rc;
    return page;
}

/* Finds the end of the list of the term at s->offset, which begins at `list` or later. If the page is damaged, sets index->rc. */
static void sqlcipherkit_find_end(sqlcipherkit_segment *s, int list) {
    const int rest = s->leaf->szLeaf - s->offset;
    s->is_last = s->footer.at >= s->footer.end;
    const int step = s->is_last ? rest : sqlcipherkit_read_size(&s->footer);
    if (step > rest || s->offset + step < list || sqlcipherkit_is_damaged(&s->footer)) s->index->rc = FTS5_CORRUPT;
    else s->end = s->offset + step;
}

/* Reads the term at s->offset of the page. If the page is damaged, sets index->rc. */
static void sqlcipherkit_read_term(sqlcipherkit_segment *s, int is_first) {
    sqlcipherkit_reader r = {s->leaf->p, s->offset, s->leaf->szLeaf};
    const int keep = is_first ? 0 : sqlcipherkit_read_size(&r), count = sqlcipherkit_read_size(&r);
    const u8 *bytes = sqlcipherkit_read_part(&r, count);
    if (bytes == NULL || count < 1 || keep > s->term.n) {
        s->index->rc = FTS5_CORRUPT;
        return;
    }
    s->term.n = s->keep = keep;
    fts5BufferAppendBlob(&s->index->rc, &s->term, (u32)count, bytes);
    s->list = r.at;
    sqlcipherkit_find_end(s, s->list);
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
            s->page = page;
            s->footer = (sqlcipherkit_reader){s->leaf->p, s->leaf->szLeaf, s->leaf->nn};
            s->offset = sqlcipherkit_read_size(&s->footer);
            if (s->offset < 4) p->rc = FTS5_CORRUPT;
            else sqlcipherkit_read_term(s, 1);
            if (p->rc == SQLITE_OK) return;
            break;
        }
        sqlcipherkit_leave(s);
    }
    sqlcipherkit_end_segment(s);
}

/* Returns the page of the term after the last one of this page; 0 if there is none. */
static int sqlcipherkit_page_after(sqlcipherkit_segment *s) {
    return sqlcipherkit_find_page(s, fts5IdxNextStmt(s->index), s->term.p, s->term.n);
}

static void sqlcipherkit_next_term(sqlcipherkit_segment *s) {
    if (!s->is_last) {
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
    while (!s->is_last) {
        sqlcipherkit_reader r = {s->leaf->p, s->end, s->leaf->szLeaf};
        const int is_wanted = sqlcipherkit_read_size(&r) <= same;
        s->offset = s->end;
        if (is_wanted) {
            fts5BufferSet(&s->index->rc, &s->term, same, target);
            sqlcipherkit_read_term(s, 0);
        } else {
            sqlcipherkit_find_end(s, r.at);
        }
        if (s->index->rc != SQLITE_OK) sqlcipherkit_end_segment(s);
        if (is_wanted || s->is_done) return !s->is_done;
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

/* Counts the rows of a list. It begins with a row id. For each row, the size of its positions follows, then the positions, then the
 * difference to the next row id. */
static sqlite3_int64 sqlcipherkit_count_rows(const sqlcipherkit_segment *s, const Fts5Data *leaf, int offset, int end) {
    sqlcipherkit_reader r = {leaf->p, offset, end};
    sqlite3_int64 count = 0;
    for (; r.at < r.end; count++) {
        sqlcipherkit_read_number(&r);
        if (s->index->pConfig->eDetail != FTS5_DETAIL_NONE) sqlcipherkit_read_part(&r, sqlcipherkit_read_size(&r) >> 1);
    }
    return count;
}

/* Returns the offset of a page's first term: the page's end if it has none, and 0 after damage. */
static int sqlcipherkit_first_term(const Fts5Data *leaf) {
    sqlcipherkit_reader footer = {leaf->p, leaf->szLeaf, leaf->nn};
    const int offset = fts5LeafIsTermless(leaf) ? leaf->szLeaf : sqlcipherkit_read_size(&footer);
    return offset <= leaf->szLeaf ? offset : 0;
}

/* Counts the rows that begin on a page before its first term: they belong to the last term of a page before. */
static sqlite3_int64 sqlcipherkit_count_further(sqlcipherkit_segment *s, int page) {
    Fts5Data *leaf = fts5LeafRead(s->index, FTS5_SEGMENT_ROWID(s->segment, page));
    if (leaf == NULL) return 0;
    const int end = sqlcipherkit_first_term(leaf);
    int first = fts5LeafFirstRowidOff(leaf);
    sqlite3_int64 count = first < 4 ? 0 : sqlcipherkit_count_rows(s, leaf, first, end);
    fts5DataRelease(leaf);
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
    if (s->index->rc != SQLITE_OK) return s->index->rc;
    return sqlcipherkit_add_term(found, s->term.p + 1, s->term.n - 1, distance, documents);
}
