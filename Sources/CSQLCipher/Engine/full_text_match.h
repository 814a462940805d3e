/* Finds the rows that match user input, best first. engine.c includes this after the amalgamation; nothing else does.
 *
 * Each typed word (a slot) stands for words of the index (its alternatives). The lists of rows are walked in step: the rarest slots
 * lead, and the others are only asked for the rows of these leaders. */

enum { sqlcipherkit_max_places = 64, sqlcipherkit_far = 2 };

/* The list of rows of an alternative: a word, or several in sequence. */
typedef struct {
    const sqlcipherkit_alternative *alternative;
    Fts5IndexIter **words;
    int count;
    /* How rare it is: bm25's factor. */
    double weight;
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
    i64 rows;
    double average;
    sqlite3_int64 steps;
    int accepted;
    int *sizes;
    int rc;
    /* The positions of each slot's words in the current row. */
    i64 places[sqlcipherkit_max_slots][sqlcipherkit_max_places];
    int place_count[sqlcipherkit_max_slots];
} sqlcipherkit_matching;

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
    m->rc = from == word->iRowid + 1 ? sqlite3Fts5IterNext(word) : sqlite3Fts5IterNextFrom(word, from);
}

/* Goes to the first row from `from` on. */
static void sqlcipherkit_go(sqlcipherkit_matching *m, sqlcipherkit_source *s, i64 from) {
    while (m->rc == SQLITE_OK) {
        int together = 1;
        for (int i = 0; i < s->count; i++) {
            Fts5IndexIter *word = s->words[i];
            if (word->bEof == 0 && word->iRowid < from) {
                sqlcipherkit_advance(m, word, from);
                if (m->rc != SQLITE_OK) break;
            }
            if (word->bEof) {
                s->is_done = 1;
                return;
            }
            if (word->iRowid > from || i == 0) {
                if (i > 0 && word->iRowid != from) together = 0;
                from = word->iRowid;
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

/* --- A row ------------------------------------------------------------------------------------------------------------ */

typedef struct {
    int typos;
    int exactness;
    int column;
    double frequency;
    double weight;
} sqlcipherkit_found;

static void sqlcipherkit_insert_place(sqlcipherkit_matching *m, int slot, i64 place) {
    int n = m->place_count[slot];
    i64 *places = m->places[slot];
    if (n == sqlcipherkit_max_places) {
        if (places[n - 1] <= place) return;
        n--;
    }
    int i = n;
    while (i > 0 && places[i - 1] > place) {
        places[i] = places[i - 1];
        i--;
    }
    places[i] = place;
    m->place_count[slot] = n + 1;
}

/* Returns the fewest typing errors among the lists of a slot that are at the row, in the heap from `i` on. */
static int sqlcipherkit_fewest(const sqlcipherkit_lists *lists, int i, i64 row) {
    if (i >= lists->count || lists->heap[i]->row != row) return 255;
    int fewest = lists->heap[i]->alternative->typos;
    fewest = MIN(fewest, sqlcipherkit_fewest(lists, 2 * i + 1, row));
    return MIN(fewest, sqlcipherkit_fewest(lists, 2 * i + 2, row));
}

/* Rates the same lists. Only words with the fewest errors count, so that a row's rating does not depend on which other words were
 * looked for. */
static void sqlcipherkit_look(sqlcipherkit_matching *m, int slot, int i, i64 row, sqlcipherkit_found *found) {
    sqlcipherkit_lists *lists = &m->slots[slot];
    if (i >= lists->count || lists->heap[i]->row != row) return;
    const sqlcipherkit_source *s = lists->heap[i];
    const sqlcipherkit_alternative *a = s->alternative;
    int column = 255;
    double frequency = 0;
    if (a->typos != found->typos) goto others;
    if (m->words->config->eDetail == FTS5_DETAIL_FULL) {
        i64 place = 0;
        int offset = 0, taken = 0;
        while (taken < sqlcipherkit_max_places && sqlite3Fts5PoslistNext64(s->places, s->size, &offset, &place) == 0) {
            int c = FTS5_POS2COLUMN(place);
            if (c < 0 || c >= m->words->config->nCol) break;
            frequency += m->question->weights[c];
            column = MIN(column, m->question->places[c]);
            sqlcipherkit_insert_place(m, slot, place);
            taken++;
        }
    } else if (m->words->config->eDetail == FTS5_DETAIL_COLUMNS) {
        int offset = 0, c = 0;
        while (offset < s->size) {
            int step = 0;
            offset += fts5GetVarint32(&s->places[offset], step);
            c += step - 2;
            if (c < 0 || c >= m->words->config->nCol) break;
            frequency += m->question->weights[c];
            column = MIN(column, m->question->places[c]);
        }
    } else {
        frequency = 1;
        column = 0;
    }
    found->exactness = MIN(found->exactness, a->exactness);
    found->column = MIN(found->column, column);
    found->frequency += frequency;
    found->weight = MAX(found->weight, s->weight);
others:
    sqlcipherkit_look(m, slot, 2 * i + 1, row, found);
    sqlcipherkit_look(m, slot, 2 * i + 2, row, found);
}

/* Returns the distance between two slots: 0 if the second directly follows the first, 1 if one word is between them or they are
 * swapped, 2 if they are further apart or in different columns. */
static int sqlcipherkit_distance(const sqlcipherkit_matching *m, int a, int b) {
    int nearest = sqlcipherkit_far, i = 0, j = 0;
    while (i < m->place_count[a] && j < m->place_count[b]) {
        i64 between = m->places[b][j] - m->places[a][i];
        /* A distance backwards counts one more. */
        i64 distance = between > 0 ? between - 1 : -between;
        if (distance < nearest && FTS5_POS2COLUMN(m->places[a][i]) == FTS5_POS2COLUMN(m->places[b][j])) nearest = (int)distance;
        if (between > 0) i++;
        else j++;
    }
    return nearest;
}

static sqlite3_uint64 sqlcipherkit_rule_key(const sqlcipherkit_question *q, const sqlcipherkit_match *match, int after) {
    sqlite3_uint64 key = 0;
    int is_after = 0, bits = 0;
    for (int i = 0; i < q->rule_count; i++) {
        int value = 0;
        switch (q->rules[i]) {
            case sqlcipherkit_rule_words: value = 255 - match->words; break;
            case sqlcipherkit_rule_typos: value = match->typos; break;
            case sqlcipherkit_rule_proximity: value = match->proximity; break;
            case sqlcipherkit_rule_column: value = match->column; break;
            case sqlcipherkit_rule_exactness: value = match->exactness; break;
            case sqlcipherkit_rule_relevance: is_after = 1; continue;
            default: continue;
        }
        if (is_after == after && bits < 8) {
            key = key << 8 | (sqlite3_uint64)value;
            bits++;
        }
    }
    return key;
}

/* Returns a number below 0 if the first match is better. */
static int sqlcipherkit_compare_matches(const void *a, const void *b) {
    const sqlcipherkit_match *x = a, *y = b;
    if (x->before != y->before) return x->before < y->before ? -1 : 1;
    if (x->relevance != y->relevance) return x->relevance > y->relevance ? -1 : 1;
    if (x->after != y->after) return x->after < y->after ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* Keeps the best matches, as a heap with the worst of them on top. */
static void sqlcipherkit_keep(sqlcipherkit_answer *answer, int wanted, const sqlcipherkit_match *match) {
    sqlcipherkit_match *heap = answer->matches;
    int i;
    if (answer->count < wanted) {
        i = answer->count++;
        while (i > 0 && sqlcipherkit_compare_matches(match, &heap[(i - 1) / 2]) > 0) {
            heap[i] = heap[(i - 1) / 2];
            i = (i - 1) / 2;
        }
    } else {
        i = 0;
        for (int child = 1; child < answer->count; child = 2 * i + 1) {
            if (child + 1 < answer->count && sqlcipherkit_compare_matches(&heap[child + 1], &heap[child]) > 0) child++;
            if (sqlcipherkit_compare_matches(&heap[child], match) <= 0) break;
            heap[i] = heap[child];
            i = child;
        }
    }
    heap[i] = *match;
}

static double sqlcipherkit_relevance(const sqlcipherkit_matching *m, const sqlcipherkit_match *match, double length) {
    const double k1 = 1.2, b = 0.75;
    double sum = 0;
    for (int i = 0; i < m->slot_count; i++) {
        if ((match->present >> i & 1) == 0) continue;
        double f = match->frequency[i];
        sum += match->weight[i] * (f * (k1 + 1)) / (f + k1 * (1 - b + b * length));
    }
    return sum;
}

static void sqlcipherkit_rate(sqlcipherkit_matching *m, i64 row, unsigned int present) {
    const sqlcipherkit_question *q = m->question;
    sqlcipherkit_answer *answer = m->answer;
    sqlcipherkit_match match;
    memset(&match, 0, offsetof(sqlcipherkit_match, frequency));
    match.row = row;
    match.present = present;
    int typos = 0, column = 0, exactness = 0, proximity = 0, words = 0, before = -1;
    for (int i = 0; i < m->slot_count; i++) {
        match.frequency[i] = match.weight[i] = 0;
        if ((present >> i & 1) == 0) continue;
        sqlcipherkit_found found = {sqlcipherkit_fewest(&m->slots[i], 0, row), 255, 255, 0, 0};
        m->place_count[i] = 0;
        sqlcipherkit_look(m, i, 0, row, &found);
        words++;
        typos += found.typos;
        column += MIN(found.column, 15);
        exactness += found.exactness;
        match.frequency[i] = (float)found.frequency;
        match.weight[i] = (float)found.weight;
        if (before >= 0) proximity += sqlcipherkit_distance(m, before, i);
        before = i;
    }
    match.words = (u8)words;
    match.typos = (u8)MIN(typos, 255);
    match.column = (u8)MIN(column, 255);
    match.exactness = (u8)MIN(exactness, 255);
    match.proximity = (u8)MIN(proximity, 255);
    match.before = sqlcipherkit_rule_key(q, &match, 0);
    match.after = sqlcipherkit_rule_key(q, &match, 1);
    match.relevance = sqlcipherkit_relevance(m, &match, 1);
    int is_full = answer->count == q->wanted;
    int enters = q->wanted > 0 && (!is_full || sqlcipherkit_compare_matches(&match, &answer->matches[0]) < 0);
    if (q->accept != NULL && (enters || m->accepted < q->accept_all_up_to)) {
        m->accepted++;
        int accepted = q->accept(q->context, row);
        if (accepted < 0) m->rc = SQLITE_ABORT;
        if (accepted <= 0) return;
    }
    answer->total++;
    if (enters) sqlcipherkit_keep(answer, q->wanted, &match);
}

/* --- All rows --------------------------------------------------------------------------------------------------------- */

static void sqlcipherkit_walk(sqlcipherkit_matching *m) {
    const sqlcipherkit_question *q = m->question;
    const int wanted = m->wanted_slots, minimum = MAX(1, MIN(q->minimum, wanted));
    const int leaders = wanted - minimum + 1;
    m->answer->is_complete = 1;
    i64 from = SMALLEST_INT64;
    while (m->rc == SQLITE_OK) {
        if (m->steps > q->budget) {
            m->answer->is_complete = 0;
            return;
        }
        if (AtomicLoad(&m->words->config->db->u1.isInterrupted)) {
            m->rc = SQLITE_INTERRUPT;
            return;
        }
        i64 row = LARGEST_INT64;
        int any = 0;
        for (int i = 0; i < leaders; i++) {
            sqlcipherkit_lists *slot = &m->slots[m->order[i]];
            sqlcipherkit_go_all(m, slot, from);
            if (slot->count > 0 && (!any || slot->heap[0]->row < row)) {
                row = slot->heap[0]->row;
                any = 1;
            }
        }
        if (!any || m->rc != SQLITE_OK) return;
        unsigned int present = 0;
        int have = 0;
        i64 next = row;
        for (int i = 0; i < wanted && have + wanted - i >= minimum; i++) {
            sqlcipherkit_lists *slot = &m->slots[m->order[i]];
            if (i >= leaders) sqlcipherkit_go_all(m, slot, row);
            if (m->rc != SQLITE_OK) return;
            if (slot->count > 0 && slot->heap[0]->row == row) {
                present |= 1u << m->order[i];
                have++;
            } else if (minimum == wanted) {
                /* All slots must have the row, so the next candidate is this slot's row. */
                if (slot->count == 0) return;
                next = MAX(next, slot->heap[0]->row - 1);
                break;
            }
        }
        for (int i = wanted; i < m->slot_count && have >= minimum; i++) {
            sqlcipherkit_lists *slot = &m->slots[m->order[i]];
            sqlcipherkit_go_all(m, slot, row);
            if (slot->count > 0 && slot->heap[0]->row == row) have = 0;
        }
        if (m->rc == SQLITE_OK && have >= minimum) sqlcipherkit_rate(m, row, present);
        if (next == LARGEST_INT64) return;
        from = next + 1;
    }
}

static void sqlcipherkit_begin(sqlcipherkit_matching *m) {
    const sqlcipherkit_question *q = m->question;
    int tokens = 0;
    for (int i = 0; i < q->alternative_count; i++) tokens += q->alternatives[i].count;
    m->sources = sqlite3Fts5MallocZero(&m->rc, (i64)sizeof *m->sources * (q->alternative_count + 1));
    m->heaps = sqlite3Fts5MallocZero(&m->rc, (i64)sizeof *m->heaps * (q->alternative_count + 1));
    m->iterators = sqlite3Fts5MallocZero(&m->rc, (i64)sizeof *m->iterators * (tokens + 1));
    m->columns = sqlite3Fts5MallocZero(&m->rc, (i64)sizeof *m->columns * (q->slot_count + 1));
    m->sizes = sqlite3Fts5MallocZero(&m->rc, (i64)sizeof *m->sizes * (m->words->config->nCol + 1));
    if (m->rc != SQLITE_OK) return;
    int source = 0, iterator = 0;
    for (int slot = 0; slot < q->slot_count; slot++) {
        sqlcipherkit_lists *lists = &m->slots[slot];
        lists->heap = &m->heaps[source];
        lists->documents = q->slots[slot].documents;
        if (q->slots[slot].column_count > 0) {
            int count = q->slots[slot].column_count;
            Fts5Colset *set = sqlite3Fts5MallocZero(&m->rc, SZ_FTS5COLSET(count));
            if (set == NULL) return;
            set->nCol = count;
            for (int i = 0; i < count; i++) set->aiCol[i] = q->slots[slot].columns[i];
            m->columns[slot] = set;
        }
        for (int i = 0; i < q->alternative_count; i++) {
            const sqlcipherkit_alternative *a = &q->alternatives[i];
            if (a->slot != slot || a->count < 1 || a->count > sqlcipherkit_max_slots) continue;
            sqlcipherkit_source *s = &m->sources[source];
            s->alternative = a;
            s->words = &m->iterators[iterator];
            s->count = a->count;
            const double rows = (double)MAX(MAX(m->rows, q->rows), a->documents);
            s->weight = MAX(1e-6, log((rows - (double)a->documents + 0.5) / ((double)a->documents + 0.5)));
            int is_there = 1;
            for (int t = 0; t < a->count && m->rc == SQLITE_OK; t++) {
                const sqlcipherkit_index_token *token = &q->tokens[a->first + t];
                Fts5IndexIter *word = NULL;
                m->rc = sqlite3Fts5IndexQuery(
                    m->words->index, (const char *)token->bytes, token->count, 0, m->columns[slot], &word);
                m->iterators[iterator++] = word;
                if (word == NULL || word->bEof) is_there = 0;
            }
            source++;
            if (m->rc != SQLITE_OK) return;
            if (!is_there) continue;
            sqlcipherkit_go(m, s, SMALLEST_INT64);
            if (m->rc != SQLITE_OK) return;
            if (s->is_done) continue;
            lists->heap[lists->count++] = s;
        }
        for (int i = lists->count / 2 - 1; i >= 0; i--) sqlcipherkit_sift(lists, i);
        m->order[slot] = slot;
    }
    /* Slots that are wanted come before excluded ones, and the rarest come first. */
    for (int i = 1; i < m->slot_count; i++) {
        int moved = m->order[i], j = i;
        while (j > 0) {
            const int other = m->order[j - 1];
            const int is_before = q->slots[other].is_excluded != q->slots[moved].is_excluded
                ? q->slots[other].is_excluded : m->slots[other].documents > m->slots[moved].documents;
            if (!is_before) break;
            m->order[j] = other;
            j--;
        }
        m->order[j] = moved;
    }
}

static void sqlcipherkit_weigh_lengths(sqlcipherkit_matching *m) {
    sqlcipherkit_answer *answer = m->answer;
    if (!m->words->config->bColumnsize) return;
    for (int i = 0; i < answer->count && m->rc == SQLITE_OK; i++) {
        m->rc = sqlite3Fts5StorageDocsize(m->words->table->pStorage, answer->matches[i].row, m->sizes);
        double length = 0;
        for (int c = 0; c < m->words->config->nCol; c++) length += m->sizes[c];
        answer->matches[i].relevance = sqlcipherkit_relevance(m, &answer->matches[i], length / m->average);
    }
}

int sqlcipherkit_words_match(sqlcipherkit_words *words, const sqlcipherkit_question *question, sqlcipherkit_answer *answer) {
    memset(answer, 0, sizeof *answer);
    if (question->slot_count > sqlcipherkit_max_slots || question->slot_count < 1) return SQLITE_MISUSE;
    sqlcipherkit_matching *m = sqlite3_malloc64(sizeof *m);
    if (m == NULL) return SQLITE_NOMEM;
    memset(m, 0, offsetof(sqlcipherkit_matching, places));
    m->words = words;
    m->question = question;
    m->answer = answer;
    m->slot_count = question->slot_count;
    for (int i = 0; i < question->slot_count; i++) m->wanted_slots += !question->slots[i].is_excluded;
    answer->matches = sqlite3Fts5MallocZero(&m->rc, (i64)sizeof *answer->matches * (question->wanted + 1));
    i64 *totals = sqlite3Fts5MallocZero(&m->rc, (i64)sizeof *totals * (words->config->nCol + 1));
    if (m->rc == SQLITE_OK) m->rc = sqlite3Fts5IndexGetAverages(words->index, &m->rows, totals);
    if (m->rc == SQLITE_OK) {
        double total = 0;
        for (int c = 0; c < words->config->nCol; c++) total += (double)totals[c];
        m->average = MAX(1, m->rows > 0 ? total / (double)m->rows : 1);
        sqlcipherkit_begin(m);
    }
    if (m->rc == SQLITE_OK && m->wanted_slots > 0) sqlcipherkit_walk(m);
    if (m->rc == SQLITE_OK) sqlcipherkit_weigh_lengths(m);
    if (m->rc == SQLITE_OK && answer->count > 0) {
        qsort(answer->matches, (size_t)answer->count, sizeof *answer->matches, sqlcipherkit_compare_matches);
    }
    answer->steps = m->steps;
    for (int i = 0; m->sources != NULL && i < question->alternative_count; i++) fts5BufferFree(&m->sources[i].phrase);
    int tokens = 0;
    for (int i = 0; i < question->alternative_count; i++) tokens += question->alternatives[i].count;
    for (int i = 0; m->iterators != NULL && i < tokens; i++) sqlite3Fts5IterClose(m->iterators[i]);
    for (int i = 0; m->columns != NULL && i < question->slot_count; i++) sqlite3_free(m->columns[i]);
    sqlite3_free(totals);
    sqlite3_free(m->sources);
    sqlite3_free(m->heaps);
    sqlite3_free(m->iterators);
    sqlite3_free(m->columns);
    sqlite3_free(m->sizes);
    int rc = m->rc;
    sqlite3_free(m);
    return rc;
}

void sqlcipherkit_answer_free(sqlcipherkit_answer *answer) {
    sqlite3_free(answer->matches);
    memset(answer, 0, sizeof *answer);
}
