/* Compares a full-text index with its content. engine.c includes this after the amalgamation; nothing else does.
 *
 * Both have the same entries (a word, a row and a place in it) if the sums over all of them are equal. FTS5's own check reads each
 * word byte by byte for each of its places, and looks up the sizes of each row's texts. Here a word is read in parts of eight
 * bytes, its places are read where they are, and the sizes come in order beside the rows. */

typedef struct {
    Fts5Config *config;
    /* Without places, a word counts once for a row or a column: the numbers of its words so far. */
    u64 *words;
    int count, capacity;
    i64 row;
    int column;
    int size;
    u64 sum;
} sqlcipherkit_checking;

static u64 sqlcipherkit_mixed(u64 sum) {
    sum = (sum ^ sum >> 32) * 0x9e3779b97f4a7c15u;
    return sum ^ sum >> 29;
}

/* Returns a number for a word, of the index's words themselves (0) or of their beginnings of one length. The last part that is read
 * may overlap the one before it. */
static u64 sqlcipherkit_sum_word(int index, const u8 *bytes, int count) {
    /* Mixed by themselves: "w1" and "w10" differ in their sizes and in their last bytes by the same bit. */
    u64 sum = sqlcipherkit_mixed((u64)index << 32 | (u64)count), part = 0;
    for (; count > 8; bytes += 8, count -= 8) {
        memcpy(&part, bytes, sizeof part);
        sum = sqlcipherkit_mixed(sum ^ part);
    }
    if (count >= 4) {
        u32 begin, end;
        memcpy(&begin, bytes, sizeof begin);
        memcpy(&end, bytes + count - 4, sizeof end);
        part = (u64)begin << 32 | end;
    } else if (count > 0) {
        part = (u64)bytes[0] << 16 | (u64)bytes[count / 2] << 8 | bytes[count - 1];
    }
    return sqlcipherkit_mixed(sum ^ part);
}

static u64 sqlcipherkit_sum_entry(u64 word, i64 row, i64 place) {
    return sqlcipherkit_mixed(word + (u64)row * 0xd6e8feb86659fd93u + (u64)place * 0xa0761d6478bd642fu);
}

/* Returns how many bytes the first characters of a word take; 0 for a word with fewer. As FTS5 counts them. */
static int sqlcipherkit_beginning_size(const char *word, int count, int characters) {
    int size = 0;
    for (; characters > 0; characters--) {
        if (size >= count) return 0;
        const int is_long = (u8)word[size++] >= 0xc0;
        if (is_long && size >= count) return 0;
        while (is_long && size < count && (word[size] & 0xc0) == 0x80) size++;
    }
    return size;
}

/* FTS5 cuts longer words. */
enum { sqlcipherkit_longest_word = 32768 };

static int sqlcipherkit_check_word(sqlcipherkit_checking *c, u64 word) {
    if (c->config->eDetail == FTS5_DETAIL_FULL) {
        c->sum += sqlcipherkit_sum_entry(word, c->row, (i64)c->column << 32 | (c->size - 1));
        return SQLITE_OK;
    }
    if (c->count == c->capacity) {
        const int capacity = c->capacity == 0 ? 256 : 2 * c->capacity;
        u64 *grown = capacity <= 0 ? NULL : sqlite3_realloc64(c->words, (u64)capacity * sizeof *grown);
        if (grown == NULL) return SQLITE_NOMEM;
        c->words = grown;
        c->capacity = capacity;
    }
    c->words[c->count++] = word;
    return SQLITE_OK;
}

static int sqlcipherkit_compare_numbers(const void *a, const void *b) {
    const u64 x = *(const u64 *)a, y = *(const u64 *)b;
    return x < y ? -1 : x > y;
}

/* Adds the words of a row, or of its column, to the sum: each once. */
static void sqlcipherkit_check_words(sqlcipherkit_checking *c) {
    const i64 place = c->config->eDetail == FTS5_DETAIL_COLUMNS ? c->column : 0;
    if (c->count > 0) qsort(c->words, (size_t)c->count, sizeof *c->words, sqlcipherkit_compare_numbers);
    for (int i = 0; i < c->count; i++) {
        if (i == 0 || c->words[i] != c->words[i - 1]) c->sum += sqlcipherkit_sum_entry(c->words[i], c->row, place);
    }
    c->count = 0;
}

static int sqlcipherkit_check_token(void *context, int flags, const char *token, int count, int start, int end) {
    (void)start, (void)end;
    sqlcipherkit_checking *c = context;
    if (count > sqlcipherkit_longest_word) count = sqlcipherkit_longest_word;
    if ((flags & FTS5_TOKEN_COLOCATED) == 0 || c->size == 0) c->size++;
    int rc = sqlcipherkit_check_word(c, sqlcipherkit_sum_word(0, (const u8 *)token, count));
    for (int index = 1; rc == SQLITE_OK && index <= c->config->nPrefix; index++) {
        const int size = sqlcipherkit_beginning_size(token, count, c->config->aPrefix[index - 1]);
        if (size > 0) rc = sqlcipherkit_check_word(c, sqlcipherkit_sum_word(index, (const u8 *)token, size));
    }
    return rc;
}

/* Adds the entries of a column of the content's row to the sum. */
static int sqlcipherkit_check_column(sqlcipherkit_checking *c, sqlite3_stmt *row, int column) {
    Fts5Config *config = c->config;
    sqlite3_value *value = sqlite3_column_value(row, column + 1);
    const char *text = NULL, *locale = NULL;
    int count = 0, locale_count = 0, rc = SQLITE_OK;
    if (config->eContent == FTS5_CONTENT_EXTERNAL && sqlite3Fts5IsLocaleValue(config, value)) {
        rc = sqlite3Fts5DecodeLocaleValue(value, &text, &count, &locale, &locale_count);
    } else {
        if (config->eContent == FTS5_CONTENT_NORMAL && config->bLocale) {
            locale = (const char *)sqlite3_column_text(row, column + 1 + config->nCol);
            locale_count = sqlite3_column_bytes(row, column + 1 + config->nCol);
        }
        text = (const char *)sqlite3_value_text(value);
        count = sqlite3_value_bytes(value);
    }
    if (rc != SQLITE_OK) return rc;
    c->column = column;
    c->size = 0;
    sqlite3Fts5SetLocale(config, locale, locale_count);
    rc = sqlite3Fts5Tokenize(config, FTS5_TOKENIZE_DOCUMENT, text, count, c, sqlcipherkit_check_token);
    sqlite3Fts5ClearLocale(config);
    if (config->eDetail == FTS5_DETAIL_COLUMNS) sqlcipherkit_check_words(c);
    return rc;
}

/* Reads the sizes of a row's texts. Rows mostly come in the order of their ids, as the sizes do. */
static int sqlcipherkit_check_sizes(sqlcipherkit_words *words, sqlite3_stmt *sizes, i64 row, int *found) {
    while (sqlite3_data_count(sizes) > 0 && sqlite3_column_int64(sizes, 0) < row && sqlite3_step(sizes) == SQLITE_ROW) {}
    const int is_there = sqlite3_data_count(sizes) > 0 && sqlite3_column_int64(sizes, 0) == row;
    if (!is_there) return sqlcipherkit_read_docsize(words, row, found);
    sqlcipherkit_reader r = {sqlite3_column_blob(sizes, 1), 0, sqlite3_column_bytes(sizes, 1)};
    for (int i = 0; i < words->config->nCol; i++) found[i] = sqlcipherkit_read_size(&r);
    return r.at == r.end ? SQLITE_OK : SQLITE_CORRUPT_VTAB;
}

static int sqlcipherkit_count_table(const Fts5Config *config, const char *ending, i64 *count) {
    sqlite3_stmt *statement = NULL;
    char *sql = sqlite3_mprintf("SELECT count(*) FROM %Q.'%q_%s'", config->zDb, config->zName, ending);
    int rc = sql == NULL ? SQLITE_NOMEM : sqlite3_prepare_v3(config->db, sql, -1, SQLITE_PREPARE_NO_VTAB, &statement, NULL);
    sqlite3_free(sql);
    if (rc == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW) *count = sqlite3_column_int64(statement, 0);
    const int ended = sqlite3_finalize(statement);
    return rc == SQLITE_OK ? ended : rc;
}

/* Compares the number of words in each column with the totals, and the numbers of rows. The storage has those of the open
 * transaction. */
static int sqlcipherkit_check_totals(sqlcipherkit_words *words, const i64 *totals) {
    const Fts5Config *config = words->config;
    Fts5Storage *storage = words->table->pStorage;
    int rc = fts5StorageLoadTotals(storage, 0);
    i64 count = storage->nTotalRow;
    for (int i = 0; rc == SQLITE_OK && i < config->nCol; i++) {
        if (storage->aTotalSize[i] != totals[i]) rc = SQLITE_CORRUPT_VTAB;
    }
    if (rc == SQLITE_OK && config->eContent == FTS5_CONTENT_NORMAL) rc = sqlcipherkit_count_table(config, "content", &count);
    if (rc == SQLITE_OK && count == storage->nTotalRow && config->bColumnsize) {
        rc = sqlcipherkit_count_table(config, "docsize", &count);
    }
    return rc == SQLITE_OK && count != storage->nTotalRow ? SQLITE_CORRUPT_VTAB : rc;
}

/* Sums up the content's entries, and compares the number of words with what is stored about each row and about all. */
static int sqlcipherkit_check_content(sqlcipherkit_words *words, u64 *sum) {
    Fts5Config *config = words->config;
    sqlcipherkit_checking c = {.config = config};
    sqlite3_stmt *rows = NULL, *sizes = NULL;
    int rc = SQLITE_OK;
    i64 *totals = sqlcipherkit_zeroed(&rc, (i64)config->nCol * (i64)(sizeof *totals + sizeof(int)));
    if (totals == NULL) return rc;
    int *expected = (int *)&totals[config->nCol];
    rc = fts5StorageGetStmt(words->table->pStorage, FTS5_STMT_SCAN, &rows, NULL);
    if (rc == SQLITE_OK && config->bColumnsize) {
        char *sql = sqlite3_mprintf("SELECT id, sz FROM %Q.'%q_docsize' ORDER BY id", config->zDb, config->zName);
        rc = sql == NULL ? SQLITE_NOMEM : sqlite3_prepare_v3(config->db, sql, -1, SQLITE_PREPARE_NO_VTAB, &sizes, NULL);
        sqlite3_free(sql);
        if (rc == SQLITE_OK) sqlite3_step(sizes);
    }
    while (rc == SQLITE_OK && sqlite3_step(rows) == SQLITE_ROW) {
        c.row = sqlite3_column_int64(rows, 0);
        if (sizes != NULL) rc = sqlcipherkit_check_sizes(words, sizes, c.row, expected);
        for (int i = 0; rc == SQLITE_OK && i < config->nCol; i++) {
            if (config->abUnindexed[i]) continue;
            rc = sqlcipherkit_check_column(&c, rows, i);
            if (rc == SQLITE_OK && sizes != NULL && c.size != expected[i]) rc = SQLITE_CORRUPT_VTAB;
            totals[i] += c.size;
        }
        sqlcipherkit_check_words(&c);
    }
    if (rows != NULL) {
        const int ended = sqlite3_reset(rows);
        if (rc == SQLITE_OK) rc = ended;
    }
    sqlite3_finalize(sizes);
    sqlite3_free(c.words);
    if (rc == SQLITE_OK) rc = sqlcipherkit_check_totals(words, totals);
    sqlite3_free(totals);
    *sum = c.sum;
    return rc;
}

/* Adds the entries of the iterator's word and row to the sum. */
static void sqlcipherkit_check_entries(Fts5Index *index, Fts5Iter *entry, Fts5Buffer *places, u64 *sum) {
    const i64 row = fts5MultiIterRowid(entry);
    int count = 0;
    const u8 *term = fts5MultiIterTerm(entry, &count);
    if (count < 1) return;
    const u64 word = sqlcipherkit_sum_word(term[0] - sqlcipherkit_main_index, term + 1, count - 1);
    if (index->pConfig->eDetail == FTS5_DETAIL_NONE) {
        if (fts5MultiIterIsEmpty(index, entry) == 0) *sum += sqlcipherkit_sum_entry(word, row, 0);
        return;
    }
    Fts5SegIter *segment = &entry->aSeg[entry->aFirst[1].iFirst];
    sqlcipherkit_reader r = {segment->pLeaf->p, (int)segment->iLeafOffset, segment->pLeaf->szLeaf};
    const u8 *whole = sqlcipherkit_read_part(&r, segment->nPos);
    if (whole != NULL) {
        r = (sqlcipherkit_reader){whole, 0, segment->nPos};
    } else {
        /* The places go on on the next page. */
        places->n = 0;
        fts5SegiterPoslist(index, segment, NULL, places);
        r = (sqlcipherkit_reader){places->p, 0, places->n};
        if (index->rc != SQLITE_OK) return;
    }
    const i64 end = (i64)index->pConfig->nCol << (index->pConfig->eDetail == FTS5_DETAIL_FULL ? 32 : 0);
    i64 place = 0;
    while (sqlcipherkit_read_place(&r, &place)) *sum += sqlcipherkit_sum_entry(word, row, place);
    if (sqlcipherkit_is_damaged(&r) || place >= end) index->rc = SQLITE_CORRUPT_VTAB;
}

static int sqlcipherkit_check_index(Fts5Index *index, u64 *sum) {
    Fts5Structure *structure = fts5StructureRead(index);
    if (structure == NULL) return fts5IndexReturn(index);
    for (int level = 0; level < structure->nLevel; level++) {
        for (int i = 0; i < structure->aLevel[level].nSeg; i++) {
            fts5IndexIntegrityCheckSegment(index, &structure->aLevel[level].aSeg[i]);
        }
    }
    Fts5Iter *entry = NULL;
    Fts5Buffer places = {0, 0, 0};
    fts5MultiIterNew(index, structure, FTS5INDEX_QUERY_NOOUTPUT, NULL, NULL, 0, -1, 0, &entry);
    while (index->rc == SQLITE_OK && fts5MultiIterEof(index, entry) == 0) {
        if (sqlite3_is_interrupted(index->pConfig->db)) index->rc = SQLITE_INTERRUPT;
        sqlcipherkit_check_entries(index, entry, &places, sum);
        if (index->rc == SQLITE_OK) fts5MultiIterNext(index, entry, 0, 0);
    }
    fts5MultiIterFree(entry);
    fts5StructureRelease(structure);
    fts5BufferFree(&places);
    return fts5IndexReturn(index);
}

static int sqlcipherkit_scan_terms(sqlcipherkit_segment *s, void *context, sqlcipherkit_terms *found) {
    (void)context, (void)found;
    sqlcipherkit_enter(s, s->first);
    while (s->leaf != NULL) sqlcipherkit_next_term(s);
    return SQLITE_OK;
}

/* Reads the terms of each segment as a search does. FTS5's own check does not see all damage that a search meets. */
static int sqlcipherkit_check_terms(Fts5FullTable *table) {
    sqlcipherkit_words words;
    sqlcipherkit_terms none = {0};
    int rc = sqlcipherkit_words_begin(&words, table);
    if (rc == SQLITE_OK) rc = sqlcipherkit_each_segment(&words, sqlcipherkit_scan_terms, NULL, &none);
    sqlcipherkit_words_end(&words);
    return rc;
}

int sqlcipherkit_words_check(sqlcipherkit_words *words, int external) {
    const Fts5Config *config = words->config;
    const int has_content = config->eContent == FTS5_CONTENT_NORMAL || (config->eContent == FTS5_CONTENT_EXTERNAL && external);
    u64 expected = 0, sum = 0;
    sqlcipherkit_terms none = {0};
    int rc = fts5NewTransaction(words->table);
    if (rc == SQLITE_OK && has_content) rc = sqlcipherkit_check_content(words, &expected);
    if (rc == SQLITE_OK) rc = sqlcipherkit_each_segment(words, sqlcipherkit_scan_terms, NULL, &none);
    if (rc == SQLITE_OK) rc = sqlcipherkit_check_index(words->index, &sum);
    sqlite3Fts5IndexCloseReader(words->index);
    return rc == SQLITE_OK && has_content && sum != expected ? SQLITE_CORRUPT_VTAB : rc;
}
