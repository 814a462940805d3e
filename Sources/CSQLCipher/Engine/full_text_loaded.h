/* Reads whole lists of rows into memory. engine.c includes this after the amalgamation; nothing else does.
 *
 * A search walks through the lists of a hundred words, in several rounds. FTS5's iterators look for each word again in each round,
 * and a step of theirs takes many times as long as one in an array. So a list is read once, in the order of the terms, and kept
 * until the index is closed. Very long lists, and those in rare forms, stay with FTS5's iterators. */

enum {
    /* The most bytes of all lists together: of those that a search can walk through with its budget, about as many for a step. A
     * list that takes more than half of what is left stays with FTS5. */
    sqlcipherkit_loaded_bytes = 6000000,
    sqlcipherkit_loaded_step = 40,
    sqlcipherkit_buckets = 256,
};

/* A row of a list, and where in the list's bytes its positions are. */
typedef struct {
    i64 row;
    int at;
    int size;
} sqlcipherkit_entry;

typedef struct sqlcipherkit_list {
    struct sqlcipherkit_list *next;
    /* True if the entries are all that the index has for the word. If not, ask FTS5. */
    int is_loaded;
    int count;
    sqlcipherkit_entry *entries;
    sqlcipherkit_bytes bytes;
    /* The word's key in the index. */
    int size;
    u8 key[];
} sqlcipherkit_list;

struct sqlcipherkit_loaded {
    sqlcipherkit_list *buckets[sqlcipherkit_buckets];
    /* The lists that are being read, in the order of their keys. */
    sqlcipherkit_list **wanted;
    int wanted_count;
    i64 bytes;
    i64 most;
};

static void sqlcipherkit_unload(sqlcipherkit_words *words) {
    for (int i = 0; words->loaded != NULL && i < sqlcipherkit_buckets; i++) {
        for (sqlcipherkit_list *list = words->loaded->buckets[i], *next; list != NULL; list = next) {
            next = list->next;
            sqlite3_free(list->entries);
            sqlite3_free(list->bytes.p);
            sqlite3_free(list);
        }
    }
    sqlite3_free(words->loaded);
    words->loaded = NULL;
}

static sqlcipherkit_list **sqlcipherkit_bucket(sqlcipherkit_words *words, const sqlcipherkit_index_token *token) {
    unsigned int hash = 2166136261u;
    for (int i = 0; i < token->count; i++) hash = (hash ^ token->bytes[i]) * 16777619u;
    return &words->loaded->buckets[(hash ^ hash >> 16) % sqlcipherkit_buckets];
}

/* Returns the list of a word that has been looked for; NULL for one that has not. */
static sqlcipherkit_list *sqlcipherkit_known_list(sqlcipherkit_words *words, const sqlcipherkit_index_token *token) {
    if (words->loaded == NULL) return NULL;
    for (sqlcipherkit_list *list = *sqlcipherkit_bucket(words, token); list != NULL; list = list->next) {
        if (list->size == token->count + 1 && memcmp(list->key + 1, token->bytes, (size_t)token->count) == 0) return list;
    }
    return NULL;
}

/* Adds the bytes of a page from `from` on. */
static void sqlcipherkit_add_bytes(int *rc, sqlcipherkit_list *list, const u8 *page, int from, int end) {
    sqlcipherkit_reader r = {page, from, end};
    const int count = sqlcipherkit_greater(0, end - from);
    sqlcipherkit_append(rc, &list->bytes, sqlcipherkit_read_part(&r, count), count);
}

/* Adds the entries whose row ids are in the list's bytes from `at` on: the first one whole, each other as the difference to the one
 * before. `first` is the segment's first entry. Returns where the last positions end, which may be on pages that follow. */
static i64 sqlcipherkit_add_entries(int *rc, sqlcipherkit_list *list, int first, i64 at) {
    sqlcipherkit_reader r = {list->bytes.p, (int)at, list->bytes.n};
    i64 row = 0;
    for (int is_whole = 1; r.at < r.end; is_whole = 0) {
        const u64 number = sqlcipherkit_read_number(&r);
        const int size = sqlcipherkit_read_size(&r) >> 1;
        row = (i64)(is_whole ? number : (u64)row + number);
        if (sqlcipherkit_is_damaged(&r) || (list->count > first && row <= list->entries[list->count - 1].row)) {
            *rc = SQLITE_CORRUPT_VTAB;
            break;
        }
        /* Room for twice as many each time. */
        if ((list->count & (list->count - 1)) == 0) {
            sqlcipherkit_entry *grown = sqlite3_realloc64(list->entries, 2 * ((u64)list->count + 1) * sizeof *grown);
            if (grown == NULL) {
                *rc = SQLITE_NOMEM;
                break;
            }
            list->entries = grown;
        }
        list->entries[list->count++] = (sqlcipherkit_entry){row, r.at, size};
        at = (i64)r.at + size;
        sqlcipherkit_read_part(&r, size);
    }
    return at;
}

/* Adds what the segment has for its current term, if that fits. */
static int sqlcipherkit_add_segment(sqlcipherkit_segment *s, sqlcipherkit_list *list, i64 room) {
    int *const rc = &s->words->rc;
    const int first = list->count;
    int goes_on = s->is_last, last = s->page;
    if (goes_on) {
        const int after = sqlcipherkit_page_after(s);
        last = after > s->page ? after : s->last;
    }
    /* An entry takes a few bytes on a page, and a few times as many here. */
    if (((i64)last - s->page) * 4 * s->leaf->count > room / 2 || room < 0) list->is_loaded = 0;
    if (!list->is_loaded || *rc != SQLITE_OK) return *rc;
    i64 at = list->bytes.n;
    sqlcipherkit_add_bytes(rc, list, s->leaf->bytes, s->list, s->end);
    if (*rc == SQLITE_OK) at = sqlcipherkit_add_entries(rc, list, first, at);
    for (int page = s->page + 1; goes_on && page <= last && *rc == SQLITE_OK; page++) {
        sqlcipherkit_leaf *leaf = sqlcipherkit_read_leaf(s, page);
        if (leaf == NULL) break;
        goes_on = sqlcipherkit_is_termless(leaf);
        /* The bytes before the first row id belong to the row before; without a row id, all bytes before the first term do. */
        const int start = sqlcipherkit_first_row(leaf), end = sqlcipherkit_first_term(leaf);
        if (end < 4 || (start != 0 && (start < 4 || start >= end))) *rc = SQLITE_CORRUPT_VTAB;
        const int before = list->bytes.n;
        if (*rc == SQLITE_OK) sqlcipherkit_add_bytes(rc, list, leaf->bytes, 4, end);
        sqlite3_free(leaf);
        if (*rc != SQLITE_OK || start == 0) continue;
        if (at != before + start - 4) *rc = SQLITE_CORRUPT_VTAB;
        else at = sqlcipherkit_add_entries(rc, list, first, at);
    }
    if (*rc == SQLITE_OK && at > list->bytes.n) *rc = SQLITE_CORRUPT_VTAB;
    return *rc;
}

/* Merges the entries from `first` on, of an older segment, with those before. Of a row's entries the newest counts. */
static int sqlcipherkit_merge_segments(sqlcipherkit_list *list, int first) {
    if (first == 0 || first == list->count) return SQLITE_OK;
    u64 capacity = 2;
    while (capacity < (u64)list->count + 1) capacity *= 2;
    sqlcipherkit_entry *merged = sqlite3_malloc64(capacity * sizeof *merged), *all = list->entries;
    if (merged == NULL) return SQLITE_NOMEM;
    int count = 0, i = 0, j = first;
    while (i < first || j < list->count) {
        const int is_newer = j == list->count || (i < first && all[i].row <= all[j].row);
        if (is_newer && j < list->count && all[i].row == all[j].row) j++;
        merged[count++] = is_newer ? all[i++] : all[j++];
    }
    sqlite3_free(all);
    list->entries = merged;
    list->count = count;
    return SQLITE_OK;
}

static int sqlcipherkit_scan_lists(sqlcipherkit_segment *s, void *context, sqlcipherkit_terms *found) {
    struct sqlcipherkit_loaded *loaded = context;
    int rc = SQLITE_OK;
    (void)found;
    for (int i = 0; i < loaded->wanted_count && rc == SQLITE_OK; i++) {
        sqlcipherkit_list *list = loaded->wanted[i];
        if (!list->is_loaded) continue;
        if (sqlite3_is_interrupted(s->words->config->db)) return SQLITE_INTERRUPT;
        sqlcipherkit_seek(s, list->key, list->size);
        if (s->is_done) break;
        if (sqlcipherkit_compare_bytes(s->term.p, s->term.n, list->key, list->size) != 0) continue;
        const int first = list->count, before = list->bytes.n;
        rc = sqlcipherkit_add_segment(s, list, loaded->most - loaded->bytes);
        if (rc == SQLITE_OK) rc = sqlcipherkit_merge_segments(list, first);
        loaded->bytes += list->bytes.n - before + (list->count - first) * (i64)sizeof *list->entries;
    }
    return rc;
}

static int sqlcipherkit_compare_lists(const void *a, const void *b) {
    const sqlcipherkit_list *x = *(sqlcipherkit_list *const *)a, *y = *(sqlcipherkit_list *const *)b;
    return sqlcipherkit_compare_bytes(x->key, x->size, y->key, y->size);
}

/* Reads the lists of a question's words that have not been looked for before. */
static int sqlcipherkit_load(sqlcipherkit_words *words, const sqlcipherkit_question *q, int tokens) {
    const Fts5Config *config = words->config;
    /* Lists without positions, of deletions apart, of tokens with data, and those that lost rows in place are for FTS5 to read. */
    if (config->eDetail == FTS5_DETAIL_NONE || config->bContentlessDelete || config->bTokendata
        || config->iVersion != FTS5_CURRENT_VERSION) return SQLITE_OK;
    int rc = SQLITE_OK;
    if (words->loaded == NULL) words->loaded = sqlcipherkit_zeroed(&rc, sizeof *words->loaded);
    struct sqlcipherkit_loaded *loaded = words->loaded;
    sqlcipherkit_list **wanted = sqlcipherkit_zeroed(&rc, (i64)sizeof *wanted * (tokens + 1));
    int count = 0;
    for (int i = 0; i < tokens && rc == SQLITE_OK; i++) {
        const sqlcipherkit_index_token *token = &q->tokens[i];
        if (sqlcipherkit_known_list(words, token) != NULL) continue;
        sqlcipherkit_list *list = sqlcipherkit_zeroed(&rc, (i64)sizeof *list + token->count + 1);
        if (list == NULL) break;
        list->is_loaded = 1;
        list->size = token->count + 1;
        list->key[0] = sqlcipherkit_main_index;
        memcpy(list->key + 1, token->bytes, (size_t)token->count);
        sqlcipherkit_list **bucket = sqlcipherkit_bucket(words, token);
        list->next = *bucket;
        *bucket = wanted[count++] = list;
    }
    if (rc == SQLITE_OK && count > 0) {
        sqlcipherkit_terms none = {0};
        qsort(wanted, (size_t)count, sizeof *wanted, sqlcipherkit_compare_lists);
        loaded->wanted = wanted;
        loaded->wanted_count = count;
        loaded->most = sqlcipherkit_lesser(sqlcipherkit_loaded_bytes, q->budget * sqlcipherkit_loaded_step);
        rc = sqlcipherkit_each_segment(words, sqlcipherkit_scan_lists, loaded, &none);
    }
    /* A part of a list would be taken for all of it. */
    if (rc != SQLITE_OK) sqlcipherkit_unload(words);
    /* Entries without positions are deleted rows. */
    for (int i = 0; i < count && rc == SQLITE_OK; i++) {
        sqlcipherkit_list *list = wanted[i];
        int kept = 0;
        for (int j = 0; j < list->count; j++) {
            if (list->entries[j].size > 0) list->entries[kept++] = list->entries[j];
        }
        list->count = kept;
    }
    sqlite3_free(wanted);
    return rc;
}
