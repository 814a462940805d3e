/* The lists of rows of the words that user input means. engine.c includes this after the amalgamation; nothing else does.
 *
 * Each typed word (a slot) stands for words of the index (its alternatives). The lists of rows are walked in step: the rarest slots
 * lead, and the others are only asked for the rows of these leaders.
 *
 * They are walked from the highest row id downwards. All code here compares keys instead of row ids, which ascend on the way. */

enum { sqlcipherkit_max_places = 64, sqlcipherkit_far = 2, sqlcipherkit_beside = 3, sqlcipherkit_batch = 256 };

/* The list of rows of an alternative: a word, or several in sequence. */
typedef struct {
    const sqlcipherkit_alternative *alternative;
    Fts5IndexIter **words;
    int count;
    /* How rare it is: bm25's factor. */
    double weight;
    /* The key of its row. */
    i64 row;
    int is_done;
    /* Its positions in the row. */
    const u8 *places;
    int size;
    Fts5Buffer phrase;
} sqlcipherkit_source;

/* A slot's lists, as a heap ordered by row. */
typedef struct {
    sqlcipherkit_source **heap;
    int count;
    sqlite3_int64 documents;
} sqlcipherkit_lists;

typedef struct {
    sqlcipherkit_words *words;
    const sqlcipherkit_question *question;
    sqlcipherkit_answer *answer;
    Fts5Colset **columns;
    sqlcipherkit_source *sources;
    sqlcipherkit_source **heaps;
    Fts5IndexIter **iterators;
    sqlcipherkit_lists slots[sqlcipherkit_max_slots];
    int order[sqlcipherkit_max_slots];
    int slot_count;
    int wanted_slots;
    /* Whether the index has the word of a slot as it was typed. */
    u8 has_typed[sqlcipherkit_max_slots];
    /* Whether the current row has it in the first column, of several. */
    u8 is_first[sqlcipherkit_max_slots];
    /* Whether the rule of columns comes before that of exactness: then words in a later column do not count. */
    int is_column_first;
    i64 rows;
    double average;
    sqlite3_int64 steps;
    int judged;
    int *sizes;
    int rc;
    /* A row's id and its key are each other's, changed by this. */
    i64 flip;
    /* The next of the only rows. */
    int only;
    /* The number of rows rated with the length of their texts, by words, what they pay for others, and typing errors. */
    u16 measured[13][128][16];
    /* Rows that are to be judged. */
    int pending;
    sqlcipherkit_match batch[sqlcipherkit_batch];
    /* The frequency and the weight of each slot's words in the current row. */
    double frequency[sqlcipherkit_max_slots];
    double weight[sqlcipherkit_max_slots];
    /* The positions of each slot's words in the current row, the number of words there, and how they match. */
    i64 places[sqlcipherkit_max_slots][sqlcipherkit_max_places];
    u8 lengths[sqlcipherkit_max_slots][sqlcipherkit_max_places];
    u8 exactness[sqlcipherkit_max_slots][sqlcipherkit_max_places];
    int place_count[sqlcipherkit_max_slots];
} sqlcipherkit_matching;

static i64 sqlcipherkit_row_key(const sqlcipherkit_matching *m, i64 row) { return row ^ m->flip; }

/* Whether the search must end before it has seen all rows. */
static int sqlcipherkit_is_spent(sqlcipherkit_matching *m) {
    const sqlcipherkit_question *q = m->question;
    if (AtomicLoad(&m->words->config->db->u1.isInterrupted)) m->rc = SQLITE_INTERRUPT;
    if (m->steps <= q->budget || (m->answer->total < q->enough && m->steps <= q->limit)) return m->rc != SQLITE_OK;
    m->answer->is_complete = 0;
    return 1;
}

/* --- One list --------------------------------------------------------------------------------------------------------- */

/* Whether the words of a source follow one another in their common row. Writes their positions to `phrase`. */
static int sqlcipherkit_is_phrase(sqlcipherkit_matching *m, sqlcipherkit_source *s) {
    if (m->words->config->eDetail != FTS5_DETAIL_FULL) {
        s->places = s->words[0]->pData;
        s->size = s->words[0]->nData;
        return 1;
    }
    Fts5PoslistReader readers[sqlcipherkit_max_slots];
    i64 last = 0;
    /* A position takes about two bytes, and a tenth of a step. */
    for (int i = 0; i < s->count; i++) m->steps += s->words[i]->nData / 16;
    fts5BufferZero(&s->phrase);
    if (fts5BufferGrow(&m->rc, &s->phrase, s->words[0]->nData + 16)) return 0;
    for (int i = 0; i < s->count; i++) sqlite3Fts5PoslistReaderInit(s->words[i]->pData, s->words[i]->nData, &readers[i]);
    while (!readers[0].bEof) {
        int fits = 1;
        for (int i = 1; i < s->count && fits; i++) {
            const i64 wanted = readers[0].iPos + i;
            while (!readers[i].bEof && readers[i].iPos < wanted) sqlite3Fts5PoslistReaderNext(&readers[i]);
            if (readers[i].bEof) goto end;
            fits = readers[i].iPos == wanted;
        }
        if (fits) sqlite3Fts5PoslistSafeAppend(&s->phrase, &last, readers[0].iPos);
        sqlite3Fts5PoslistReaderNext(&readers[0]);
    }
end:
    s->places = s->phrase.p;
    s->size = s->phrase.n;
    return s->phrase.n > 0;
}

static void sqlcipherkit_advance(sqlcipherkit_matching *m, Fts5IndexIter *word, i64 from) {
    m->steps++;
    m->rc = from == sqlcipherkit_row_key(m, word->iRowid) + 1
        ? sqlite3Fts5IterNext(word) : sqlite3Fts5IterNextFrom(word, sqlcipherkit_row_key(m, from));
}

/* Goes to the first row from the key `from` on. */
static void sqlcipherkit_go(sqlcipherkit_matching *m, sqlcipherkit_source *s, i64 from) {
    while (m->rc == SQLITE_OK) {
        int together = 1;
        for (int i = 0; i < s->count; i++) {
            Fts5IndexIter *word = s->words[i];
            if (word->bEof == 0 && sqlcipherkit_row_key(m, word->iRowid) < from) {
                sqlcipherkit_advance(m, word, from);
                if (m->rc != SQLITE_OK) break;
            }
            if (word->bEof) {
                s->is_done = 1;
                return;
            }
            const i64 key = sqlcipherkit_row_key(m, word->iRowid);
            if (key > from || i == 0) {
                if (i > 0 && key != from) together = 0;
                from = key;
            }
        }
        if (m->rc != SQLITE_OK) break;
        if (together) {
            s->row = from;
            if (s->count == 1) {
                s->places = s->words[0]->pData;
                s->size = s->words[0]->nData;
                /* An empty list means other columns than those asked for, or a deleted row. */
                if (s->size > 0 || m->words->config->eDetail == FTS5_DETAIL_NONE) return;
            } else if (sqlcipherkit_is_phrase(m, s)) {
                return;
            }
            if (from == LARGEST_INT64) break;
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
