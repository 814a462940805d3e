/* The lists of rows of the words that user input means. engine.c includes this after the amalgamation; nothing else does.
 *
 * Each typed word (a slot) stands for words of the index (its alternatives). The lists of rows are walked in step: the rarest slots
 * lead, and the others are only asked for the rows of these leaders.
 *
 * They are walked from the highest row id downwards. All code here compares keys instead of row ids, which ascend on the way. */

enum { sqlcipherkit_batch = 256, sqlcipherkit_nowhere = 255, sqlcipherkit_missing_exactness = 5 };

/* The list of rows of a word: one that was read, or FTS5's iterator. */
typedef struct {
    const sqlcipherkit_list *list;
    int at;
    Fts5IndexIter *iterator;
    /* The key of its row, and its positions there. */
    i64 row;
    const u8 *places;
    int size;
    int is_done;
} sqlcipherkit_word;

/* The list of rows of an alternative: a word, or several in sequence. */
typedef struct {
    const sqlcipherkit_alternative *alternative;
    sqlcipherkit_word *words;
    int count;
    /* The rarity: bm25's factor. */
    double weight;
    /* The key of its row. */
    i64 row;
    int is_done;
    /* The positions in the row. */
    const u8 *places;
    int size;
    sqlcipherkit_bytes phrase;
} sqlcipherkit_source;

/* A slot's lists, as a heap ordered by row. */
typedef struct {
    sqlcipherkit_source **heap;
    int count;
    sqlite3_int64 documents;
} sqlcipherkit_lists;

/* A word's place in a row, the number of words of the index there, and their exactness. */
typedef struct {
    i64 place;
    int length;
    int exactness;
} sqlcipherkit_place;

/* The current row's words for a slot: the fewest typing errors, the best exactness anywhere and in the heaviest column, the rarity
 * of the rarest word, and the places of the words, in ascending order. */
typedef struct {
    int typos;
    int exactness;
    int heaviest;
    double weight;
    sqlcipherkit_place *places;
    int count;
    int capacity;
} sqlcipherkit_had;

/* Words side by side: the place after the last one, and the sum of their exactness; the same if the first of them begins the
 * column. */
typedef struct {
    i64 end;
    int exactness;
    int from_start;
} sqlcipherkit_adjacent;

typedef struct {
    sqlcipherkit_words *words;
    const sqlcipherkit_question *question;
    sqlcipherkit_answer *answer;
    Fts5Colset **columns;
    sqlcipherkit_source *sources;
    sqlcipherkit_source **heaps;
    sqlcipherkit_word *list_words;
    sqlcipherkit_lists slots[sqlcipherkit_max_slots];
    int order[sqlcipherkit_max_slots];
    int slot_count;
    int wanted_slots;
    int has_places;
    int has_relevance;
    /* The column with the highest weight; the first of several. */
    int heaviest;
    /* True for each slot whose word the index has without a typing error. */
    u8 is_known[sqlcipherkit_max_slots];
    i64 rows;
    /* The average number of words in each column. */
    double *averages;
    sqlite3_int64 steps;
    int judged;
    int rc;
    /* A row's id and its key are each other's, changed by this. */
    i64 flip;
    /* The next of the only rows. */
    int only;
    /* The current row: its words for each slot, the places where words are side by side, and, if they were asked for, the numbers
     * of words in its columns. */
    sqlcipherkit_had had[sqlcipherkit_max_slots];
    sqlcipherkit_adjacent *runs, *next_runs;
    int run_capacity, next_capacity;
    int *sizes;
    int is_measured;
    /* Rows that are to be judged. */
    int pending;
    sqlcipherkit_match batch[sqlcipherkit_batch];
} sqlcipherkit_matching;

static i64 sqlcipherkit_row_key(const sqlcipherkit_matching *m, i64 row) { return row ^ m->flip; }

/* Returns whether the search must end before it has seen all rows. */
static int sqlcipherkit_is_spent(sqlcipherkit_matching *m) {
    const sqlcipherkit_question *q = m->question;
    if (sqlite3_is_interrupted(m->words->config->db)) m->rc = SQLITE_INTERRUPT;
    if (m->steps <= q->budget || (m->answer->total < q->enough && m->steps <= q->limit)) return m->rc != SQLITE_OK;
    m->answer->is_complete = 0;
    return 1;
}

/* --- One list --------------------------------------------------------------------------------------------------------- */

/* Takes over the row that a word's list is at. */
static void sqlcipherkit_arrive(const sqlcipherkit_matching *m, sqlcipherkit_word *word) {
    if (word->list != NULL) {
        word->is_done = word->at < 0;
        if (word->is_done) return;
        const sqlcipherkit_entry *entry = &word->list->entries[word->at];
        word->row = sqlcipherkit_row_key(m, entry->row);
        sqlcipherkit_reader r = {word->list->bytes.p, entry->at, word->list->bytes.n};
        word->places = sqlcipherkit_read_part(&r, entry->size);
        word->size = word->places == NULL ? 0 : entry->size;
    } else {
        const Fts5IndexIter *iterator = word->iterator;
        word->is_done = iterator == NULL || iterator->bEof;
        if (word->is_done) return;
        word->row = sqlcipherkit_row_key(m, iterator->iRowid);
        word->places = iterator->pData;
        word->size = iterator->nData;
    }
}

/* Finds a word's list, and its first row. */
static void sqlcipherkit_open_list(sqlcipherkit_matching *m, sqlcipherkit_word *word, const sqlcipherkit_index_token *token,
                                   Fts5Colset *columns) {
    word->list = columns == NULL ? sqlcipherkit_known_list(m->words, token) : NULL;
    if (word->list != NULL && !word->list->is_loaded) word->list = NULL;
    if (word->list != NULL) {
        word->at = word->list->count - 1;
    } else {
        m->rc = sqlite3Fts5IndexQuery(
            m->words->index, (const char *)token->bytes, token->count, m->flip == 0 ? 0 : FTS5INDEX_QUERY_DESC, columns,
            &word->iterator);
    }
    if (m->rc == SQLITE_OK) sqlcipherkit_arrive(m, word);
}

/* Goes on to the first row from the key `from` on. */
static void sqlcipherkit_advance(sqlcipherkit_matching *m, sqlcipherkit_word *word, i64 from) {
    if (word->list != NULL) {
        const sqlcipherkit_entry *entries = word->list->entries;
        const i64 row = sqlcipherkit_row_key(m, from);
        /* The row is most often near: steps that double, then halves of the last one. */
        int above = word->at, below = above - 1;
        for (int step = 2; below >= 0 && entries[below].row > row; step *= 2) {
            above = below;
            below = sqlcipherkit_greater(-1, below - step);
        }
        while (above - below > 1) {
            const int middle = below + (above - below) / 2;
            if (entries[middle].row > row) above = middle;
            else below = middle;
        }
        word->at = below;
    } else {
        m->rc = from == word->row + 1 ? sqlite3Fts5IterNext(word->iterator)
                                      : sqlite3Fts5IterNextFrom(word->iterator, sqlcipherkit_row_key(m, from));
    }
    if (m->rc == SQLITE_OK) sqlcipherkit_arrive(m, word);
}

/* Writes a number below 2^35 as FTS5 does: seven bits in each byte, the highest first, and a bit that says that more follow. */
static void sqlcipherkit_write_number(sqlcipherkit_bytes *bytes, i64 number) {
    int shift = 28;
    while (shift > 0 && number >> shift == 0) shift -= 7;
    for (; shift > 0; shift -= 7) bytes->p[bytes->n++] = (u8)(number >> shift | 0x80);
    bytes->p[bytes->n++] = (u8)(number & 0x7f);
}

/* Adds a position to those of a row, which sqlcipherkit_read_place reads. There is room for it. */
static void sqlcipherkit_write_place(sqlcipherkit_bytes *bytes, i64 *last, i64 place) {
    if (place >> 32 != *last >> 32) {
        *last = place >> 32 << 32;
        bytes->p[bytes->n++] = 1;
        sqlcipherkit_write_number(bytes, place >> 32);
    }
    sqlcipherkit_write_number(bytes, place - *last + 2);
    *last = place;
}

/* Returns whether the words of a source follow one another in their common row. Writes their positions to `phrase`. */
static int sqlcipherkit_is_phrase(sqlcipherkit_matching *m, sqlcipherkit_source *s) {
    if (m->words->config->eDetail != FTS5_DETAIL_FULL) {
        s->places = s->words[0].places;
        s->size = s->words[0].size;
        return 1;
    }
    sqlcipherkit_reader readers[sqlcipherkit_max_slots];
    i64 places[sqlcipherkit_max_slots] = {0}, last = 0;
    /* A position takes about two bytes, and a tenth of a step. */
    for (int i = 0; i < s->count; i++) m->steps += s->words[i].size / 16;
    s->phrase.n = 0;
    if (!sqlcipherkit_make_bytes(&m->rc, &s->phrase, (i64)s->words[0].size + 16)) return 0;
    for (int i = 0; i < s->count; i++) readers[i] = (sqlcipherkit_reader){s->words[i].places, 0, s->words[i].size};
    for (int i = 1; i < s->count; i++) {
        if (!sqlcipherkit_read_place(&readers[i], &places[i])) goto end;
    }
    while (sqlcipherkit_read_place(&readers[0], &places[0])) {
        int fits = 1;
        for (int i = 1; i < s->count && fits; i++) {
            const i64 wanted = places[0] + i;
            while (places[i] < wanted) {
                if (!sqlcipherkit_read_place(&readers[i], &places[i])) goto end;
            }
            fits = places[i] == wanted;
        }
        if (fits) sqlcipherkit_write_place(&s->phrase, &last, places[0]);
    }
end:
    for (int i = 0; i < s->count; i++) {
        if (sqlcipherkit_is_damaged(&readers[i])) m->rc = SQLITE_CORRUPT_VTAB;
    }
    s->places = s->phrase.p;
    s->size = s->phrase.n;
    return s->phrase.n > 0;
}

/* Goes to the first row from the key `from` on. That is a step, of however many words: trigrams are no more work to look for than
 * the word that they are. */
static void sqlcipherkit_go(sqlcipherkit_matching *m, sqlcipherkit_source *s, i64 from) {
    while (m->rc == SQLITE_OK) {
        int together = 1;
        m->steps++;
        for (int i = 0; i < s->count; i++) {
            sqlcipherkit_word *word = &s->words[i];
            if (!word->is_done && word->row < from) {
                sqlcipherkit_advance(m, word, from);
                if (m->rc != SQLITE_OK) break;
            }
            if (word->is_done) {
                s->is_done = 1;
                return;
            }
            if (word->row > from || i == 0) {
                if (i > 0 && word->row != from) together = 0;
                from = word->row;
            }
        }
        if (m->rc != SQLITE_OK) break;
        if (together) {
            s->row = from;
            if (s->count == 1) {
                s->places = s->words[0].places;
                s->size = s->words[0].size;
                /* An empty list means other columns than those asked for, or a deleted row. */
                if (s->size > 0 || m->words->config->eDetail == FTS5_DETAIL_NONE) return;
            } else if (sqlcipherkit_is_phrase(m, s)) {
                return;
            }
            if (from == INT64_MAX) break;
            from++;
        }
        /* Words that many rows have may form a phrase in none of them. */
        if (sqlcipherkit_is_spent(m)) break;
    }
    s->is_done = 1;
}

/* --- A slot ----------------------------------------------------------------------------------------------------------- */

static void sqlcipherkit_sift(sqlcipherkit_lists *slot, int i) {
    for (;;) {
        int least = i;
        for (int child = 2 * i + 1; child <= 2 * i + 2 && child < slot->count; child++) {
            if (slot->heap[child]->row < slot->heap[least]->row) least = child;
        }
        if (least == i) return;
        sqlcipherkit_source *other = slot->heap[i];
        slot->heap[i] = slot->heap[least];
        slot->heap[least] = other;
        i = least;
    }
}

/* Moves all lists of a slot to the first row from `from` on. */
static void sqlcipherkit_go_all(sqlcipherkit_matching *m, sqlcipherkit_lists *slot, i64 from) {
    while (slot->count > 0 && slot->heap[0]->row < from && m->rc == SQLITE_OK) {
        sqlcipherkit_go(m, slot->heap[0], from);
        if (slot->heap[0]->is_done) slot->heap[0] = slot->heap[--slot->count];
        sqlcipherkit_sift(slot, 0);
    }
}
