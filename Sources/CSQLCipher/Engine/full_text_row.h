/* Judges a row that user input may mean, and keeps the best. engine.c includes this after the amalgamation; nothing else does.
 *
 * The judgment of a row follows from the index, the question's words and the row alone: it is the same however many rows are
 * wanted, and whichever were looked at before. */

static int sqlcipherkit_column_of(i64 place) { return (int)(place >> 32) & INT32_MAX; }

/* Returns the fewest typing errors among the lists of a slot that are at the row, in the heap from `i` on. */
static int sqlcipherkit_fewest(const sqlcipherkit_lists *lists, int i, i64 row) {
    if (i >= lists->count || lists->heap[i]->row != row) return 255;
    int fewest = lists->heap[i]->alternative->typos;
    fewest = sqlcipherkit_lesser(fewest, sqlcipherkit_fewest(lists, 2 * i + 1, row));
    return sqlcipherkit_lesser(fewest, sqlcipherkit_fewest(lists, 2 * i + 2, row));
}

/* Makes room for `count` elements, of which there are `capacity`. */
static void *sqlcipherkit_room(sqlcipherkit_matching *m, void *elements, int count, int *capacity, size_t size) {
    if (count <= *capacity) return elements;
    const int wanted = sqlcipherkit_greater(64, count < INT32_MAX / 2 ? 2 * count : count);
    void *grown = sqlite3_realloc64(elements, (u64)wanted * size);
    if (grown == NULL) m->rc = SQLITE_NOMEM;
    else *capacity = wanted;
    return grown != NULL ? grown : elements;
}

static void sqlcipherkit_add_place(sqlcipherkit_matching *m, sqlcipherkit_had *had, i64 place, const sqlcipherkit_alternative *a) {
    had->places = sqlcipherkit_room(m, had->places, had->count + 1, &had->capacity, sizeof *had->places);
    if (m->rc == SQLITE_OK) had->places[had->count++] = (sqlcipherkit_place){place, a->count, a->exactness};
}

/* Collects what the lists of a slot have at the row. Only words with the fewest errors count, so that a row's place does not depend
 * on which other words were looked for. */
static void sqlcipherkit_collect(sqlcipherkit_matching *m, sqlcipherkit_lists *lists, int i, i64 row, sqlcipherkit_had *had) {
    if (i >= lists->count || lists->heap[i]->row != row || m->rc != SQLITE_OK) return;
    const sqlcipherkit_source *s = lists->heap[i];
    const sqlcipherkit_alternative *a = s->alternative;
    if (a->typos == had->typos) {
        sqlcipherkit_reader r = {s->places, 0, m->words->config->eDetail == FTS5_DETAIL_NONE ? 0 : s->size};
        i64 place = 0;
        while (sqlcipherkit_read_place(&r, &place) && m->rc == SQLITE_OK) {
            /* Without positions, a list has columns. */
            const i64 full = m->has_places ? place : (i64)((u64)place << 32);
            if (sqlcipherkit_column_of(full) >= m->words->config->nCol) sqlcipherkit_damaged(&r);
            else sqlcipherkit_add_place(m, had, full, a);
        }
        if (sqlcipherkit_is_damaged(&r)) m->rc = SQLITE_CORRUPT_VTAB;
        m->steps += s->size / 64;
        had->exactness = sqlcipherkit_lesser(had->exactness, a->exactness);
        had->weight = fmax(had->weight, s->weight);
    }
    sqlcipherkit_collect(m, lists, 2 * i + 1, row, had);
    sqlcipherkit_collect(m, lists, 2 * i + 2, row, had);
}

static int sqlcipherkit_compare_places(const void *a, const void *b) {
    const sqlcipherkit_place *x = a, *y = b;
    if (x->place != y->place) return x->place < y->place ? -1 : 1;
    return x->exactness - y->exactness;
}

/* Writes what the row has for a slot. */
static void sqlcipherkit_look(sqlcipherkit_matching *m, int slot, i64 row) {
    sqlcipherkit_had *had = &m->had[slot];
    had->typos = sqlcipherkit_fewest(&m->slots[slot], 0, row);
    had->exactness = had->heaviest = sqlcipherkit_nowhere;
    had->weight = 0;
    had->count = 0;
    sqlcipherkit_collect(m, &m->slots[slot], 0, row, had);
    for (int i = 1; i < had->count; i++) {
        if (had->places[i - 1].place <= had->places[i].place) continue;
        qsort(had->places, (size_t)had->count, sizeof *had->places, sqlcipherkit_compare_places);
        break;
    }
    for (int i = 0; i < had->count; i++) {
        if (sqlcipherkit_column_of(had->places[i].place) != m->heaviest) continue;
        had->heaviest = sqlcipherkit_lesser(had->heaviest, had->places[i].exactness);
    }
}

/* Reads how many words each column of the row has. */
static void sqlcipherkit_read_sizes(sqlcipherkit_matching *m, i64 row) {
    if (m->is_measured) return;
    m->rc = sqlcipherkit_read_docsize(m->words, row, m->sizes);
    m->is_measured = 1;
}

/* --- Field and place -------------------------------------------------------------------------------------------------- */

static int sqlcipherkit_compare_runs(const void *a, const void *b) {
    const sqlcipherkit_adjacent *x = a, *y = b;
    return x->end < y->end ? -1 : x->end > y->end;
}

/* Finds where the row has the words of `present` side by side, in the order in which they were typed: writes the runs, each with
 * the sum of its words' exactness, and returns their number. */
static int sqlcipherkit_side_by_side(sqlcipherkit_matching *m, unsigned int present) {
    int count = -1;
    for (int slot = 0; slot < m->slot_count && count != 0; slot++) {
        if ((present >> slot & 1) == 0) continue;
        const sqlcipherkit_had *had = &m->had[slot];
        int found = 0, is_sorted = 1;
        for (int i = 0, j = 0; i < had->count; i++) {
            const sqlcipherkit_place *p = &had->places[i];
            sqlcipherkit_adjacent run = {p->place + p->length, p->exactness, sqlcipherkit_nowhere};
            if (count < 0) {
                if ((p->place & INT32_MAX) == 0) run.from_start = run.exactness;
            } else {
                int best = sqlcipherkit_nowhere, from_start = sqlcipherkit_nowhere;
                while (j < count && m->runs[j].end < p->place) j++;
                for (int k = j; k < count && m->runs[k].end == p->place; k++) {
                    best = sqlcipherkit_lesser(best, m->runs[k].exactness);
                    from_start = sqlcipherkit_lesser(from_start, m->runs[k].from_start);
                }
                if (best == sqlcipherkit_nowhere) continue;
                if (from_start != sqlcipherkit_nowhere) run.from_start = from_start + run.exactness;
                run.exactness += best;
            }
            m->next_runs = sqlcipherkit_room(m, m->next_runs, found + 1, &m->next_capacity, sizeof *m->next_runs);
            if (m->rc != SQLITE_OK) return 0;
            if (found > 0 && m->next_runs[found - 1].end > run.end) is_sorted = 0;
            m->next_runs[found++] = run;
        }
        /* Words of several words end later. */
        if (!is_sorted) qsort(m->next_runs, (size_t)found, sizeof *m->next_runs, sqlcipherkit_compare_runs);
        sqlcipherkit_adjacent *other = m->runs;
        const int capacity = m->run_capacity;
        m->runs = m->next_runs;
        m->run_capacity = m->next_capacity;
        m->next_runs = other;
        m->next_capacity = capacity;
        count = found;
    }
    return sqlcipherkit_greater(0, count);
}

/* Ranks the field of a row that has all words: a column that is the query, the heaviest one if it begins with it, or neither. */
static int sqlcipherkit_field(sqlcipherkit_matching *m, i64 row, int runs) {
    int field = sqlcipherkit_field_other;
    for (int i = 0; i < runs && m->rc == SQLITE_OK; i++) {
        const sqlcipherkit_adjacent *run = &m->runs[i];
        if (run->from_start == sqlcipherkit_nowhere) continue;
        const int column = sqlcipherkit_column_of(run->end);
        if (column == m->heaviest) field = sqlcipherkit_lesser(field, sqlcipherkit_field_begins);
        if (m->words->config->bColumnsize) {
            sqlcipherkit_read_sizes(m, row);
            if (m->rc == SQLITE_OK && m->sizes[column] == (run->end & INT32_MAX)) return sqlcipherkit_field_whole;
        }
    }
    return field;
}

/* Writes where the row has its words, and how exact these are there.
 * `beside` is their exactness where they stand beside a word too many. */
static void sqlcipherkit_locate(
    sqlcipherkit_matching *m, unsigned int present, int missing, int runs, int beside, sqlcipherkit_match *match) {
    int heaviest = sqlcipherkit_nowhere, elsewhere = sqlcipherkit_nowhere, inside = 0, anywhere = 0;
    for (int i = 0; i < runs; i++) {
        const int is_heaviest = sqlcipherkit_column_of(m->runs[i].end) == m->heaviest;
        int *best = is_heaviest ? &heaviest : &elsewhere;
        *best = sqlcipherkit_lesser(*best, m->runs[i].exactness);
    }
    for (int i = 0; i < m->slot_count; i++) {
        if ((present >> i & 1) == 0) continue;
        inside = sqlcipherkit_lesser(inside + m->had[i].heaviest, sqlcipherkit_nowhere);
        anywhere += m->had[i].exactness;
    }
    if (missing > 0) {
        const int is_too_many = beside < sqlcipherkit_nowhere;
        match->place = is_too_many ? sqlcipherkit_place_but_one : sqlcipherkit_place_other;
        match->exactness = (u8)((is_too_many ? beside : anywhere) + missing * sqlcipherkit_missing_exactness);
    } else if (heaviest != sqlcipherkit_nowhere) {
        match->place = sqlcipherkit_place_together;
        match->exactness = (u8)heaviest;
    } else if (inside < sqlcipherkit_nowhere) {
        match->place = sqlcipherkit_place_heaviest;
        match->exactness = (u8)inside;
    } else if (elsewhere != sqlcipherkit_nowhere) {
        match->place = sqlcipherkit_place_elsewhere;
        match->exactness = (u8)elsewhere;
    } else {
        match->place = sqlcipherkit_place_other;
        match->exactness = (u8)anywhere;
    }
}

/* Returns the first of a slot's places that is not before `place`. */
static int sqlcipherkit_first_place(const sqlcipherkit_had *had, i64 place) {
    int low = 0, high = had->count;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (had->places[middle].place < place) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Returns the exactness of the words of `left` where they stand side by side in any order, the first of them in `from..<to`; or
 * nowhere if they do not, or if to find that takes more than the steps that are left. */
static int sqlcipherkit_in_any_order(const sqlcipherkit_matching *m, unsigned int left, i64 from, i64 to, int *steps) {
    int best = left == 0 ? 0 : sqlcipherkit_nowhere;
    for (int slot = 0; slot < m->slot_count; slot++) {
        if ((left >> slot & 1) == 0) continue;
        const sqlcipherkit_had *had = &m->had[slot];
        for (int i = sqlcipherkit_first_place(had, from); i < had->count && had->places[i].place < to && (*steps)-- > 0; i++) {
            const i64 end = had->places[i].place + had->places[i].length;
            const int others = sqlcipherkit_in_any_order(m, left & ~(1u << slot), end, end + 1, steps);
            best = sqlcipherkit_lesser(best, others + had->places[i].exactness);
        }
    }
    return best;
}

/* --- Relevance -------------------------------------------------------------------------------------------------------- */

/* Returns what a column with a word `count` times adds, with a text of `length` times the average: bm25 for that column. */
static double sqlcipherkit_bm25(double weight, double count, double length) {
    const double k1 = 1.2, b = 0.75;
    return weight * (count * (k1 + 1)) / (count + k1 * (1 - b + b * length));
}

/* Returns bm25, summed over the columns; with `is_bound`, the highest that it can be, since a column is at least as long as where
 * the last of the words is in it. */
static double sqlcipherkit_relevance(const sqlcipherkit_matching *m, unsigned int present, int is_bound) {
    double sum = 0;
    for (int i = 0; i < m->slot_count; i++) {
        if ((present >> i & 1) == 0) continue;
        const sqlcipherkit_had *had = &m->had[i];
        if (had->count == 0) sum += had->weight;
        for (int at = 0, count; at < had->count; at += count) {
            const int column = sqlcipherkit_column_of(had->places[at].place);
            count = 1;
            while (at + count < had->count && sqlcipherkit_column_of(had->places[at + count].place) == column) count++;
            const double weight = m->question->weights[column];
            if (is_bound && weight < 0) continue;
            double length = 1;
            if (is_bound) length = (double)((had->places[at + count - 1].place & INT32_MAX) + 1) / m->averages[column];
            else if (m->is_measured) length = m->sizes[column] / m->averages[column];
            if (is_bound && !m->words->config->bColumnsize) length = 1;
            sum += had->weight * sqlcipherkit_bm25(weight, count, length);
        }
    }
    return sum;
}

/* --- The best rows ---------------------------------------------------------------------------------------------------- */

/* Returns the values of the rules before the relevance, or of those after it. */
static sqlite3_uint64 sqlcipherkit_rule_key(const sqlcipherkit_question *q, const sqlcipherkit_match *match, int after) {
    sqlite3_uint64 key = 0;
    int is_after = 0;
    for (int i = 0; i < q->rule_count; i++) {
        int value = 0;
        switch (q->rules[i]) {
            case sqlcipherkit_rule_words: value = match->cost; break;
            case sqlcipherkit_rule_field: value = match->field; break;
            case sqlcipherkit_rule_place: value = match->place; break;
            case sqlcipherkit_rule_exactness: value = match->exactness; break;
            default: is_after = 1; continue;
        }
        if (is_after == after) key = key << 8 | (sqlite3_uint64)value;
    }
    return key;
}

/* Returns a number below 0 if the first match is better. */
static int sqlcipherkit_compare_matches(const void *a, const void *b) {
    const sqlcipherkit_match *x = a, *y = b;
    if (x->before != y->before) return x->before < y->before ? -1 : 1;
    if (x->relevance != y->relevance) return x->relevance > y->relevance ? -1 : 1;
    if (x->after != y->after) return x->after < y->after ? -1 : 1;
    return x->row > y->row ? -1 : x->row < y->row;
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

static void sqlcipherkit_count(sqlcipherkit_matching *m, const sqlcipherkit_match *match) {
    sqlcipherkit_answer *answer = m->answer;
    answer->total++;
    if (answer->row_count < m->question->listed) {
        if (answer->row_count == answer->row_capacity) {
            int capacity = answer->row_capacity == 0 ? 256 : answer->row_capacity * 2;
            i64 *grown = sqlite3_realloc64(answer->rows, (u64)capacity * sizeof *grown);
            if (grown == NULL) {
                m->rc = SQLITE_NOMEM;
                return;
            }
            answer->rows = grown;
            answer->row_capacity = capacity;
        }
        answer->rows[answer->row_count++] = match->row;
    }
}

static void sqlcipherkit_accept(sqlcipherkit_matching *m, const sqlcipherkit_match *match) {
    sqlcipherkit_answer *answer = m->answer;
    const int wanted = m->question->wanted;
    sqlcipherkit_count(m, match);
    if (wanted > 0 && (answer->count < wanted || sqlcipherkit_compare_matches(match, &answer->matches[0]) < 0)) {
        sqlcipherkit_keep(answer, wanted, match);
    }
}

static void sqlcipherkit_judge_pending(sqlcipherkit_matching *m) {
    const sqlcipherkit_question *q = m->question;
    i64 rows[sqlcipherkit_batch];
    double factors[sqlcipherkit_batch];
    const int count = m->pending;
    if (count == 0 || m->rc != SQLITE_OK) return;
    for (int i = 0; i < count; i++) rows[i] = m->batch[i].row;
    m->pending = 0;
    m->judged += count;
    if (q->judge(q->context, rows, count, factors) != 0) {
        m->rc = SQLITE_ABORT;
        return;
    }
    for (int i = 0; i < count && m->rc == SQLITE_OK; i++) {
        if (factors[i] < 0) continue;
        m->batch[i].relevance *= factors[i];
        m->batch[i].score *= factors[i];
        sqlcipherkit_accept(m, &m->batch[i]);
    }
}

/* Returns whether a row lacks at least one of the words and no more than one in three: if the others are side by side in the
 * heaviest column, in any order, there was a word too many. */
static int sqlcipherkit_may_be_too_many(const sqlcipherkit_matching *m, int missing) {
    return m->question->may_have_word_too_many && missing > 0 && m->wanted_slots >= 3 * missing;
}

static void sqlcipherkit_rate(sqlcipherkit_matching *m, i64 key, unsigned int present) {
    const sqlcipherkit_question *q = m->question;
    sqlcipherkit_answer *answer = m->answer;
    sqlcipherkit_match match = {.row = sqlcipherkit_row_key(m, key), .field = sqlcipherkit_field_other};
    /* Words with typing errors where the index has what was typed: they may be looked for or not, which must not change what a row
     * without them is. */
    unsigned int alike = 0;
    m->is_measured = 0;
    for (int i = 0; i < m->slot_count && m->rc == SQLITE_OK; i++) {
        if ((present >> i & 1) == 0) continue;
        sqlcipherkit_look(m, i, key);
        if (m->had[i].typos > 0 && m->is_known[i]) alike |= 1u << i;
    }
    if (m->rc != SQLITE_OK) return;
    unsigned int shown = present & ~alike;
    int missing, beside = sqlcipherkit_nowhere;
    for (;; shown = present) {
        missing = m->wanted_slots - __builtin_popcount(shown);
        if (m->has_places && sqlcipherkit_may_be_too_many(m, missing)) {
            const i64 start = (i64)m->heaviest << 32;
            const int most = 10000;
            int steps = most;
            beside = sqlcipherkit_in_any_order(m, shown, start, start + INT32_MAX, &steps);
            m->steps += (most - steps) / 64;
        }
        if (beside < sqlcipherkit_nowhere || shown == present) break;
    }
    const int runs = m->has_places && missing == 0 ? sqlcipherkit_side_by_side(m, shown) : 0;
    /* A word like one that the index has costs less than any word that is lacked. */
    int typos = 0, cost = (shown & alike) != 0;
    for (int i = 0; i < m->slot_count; i++) {
        if (q->slots[i].excluded) continue;
        if (shown >> i & 1) typos += m->had[i].typos;
        else if (beside == sqlcipherkit_nowhere) cost += q->slots[i].cost;
    }
    match.words = (u8)(m->wanted_slots - missing);
    match.cost = (u8)sqlcipherkit_lesser(cost, 255);
    match.typos = (u8)sqlcipherkit_lesser(typos, 255);
    if (m->rc != SQLITE_OK) return;
    if (missing == 0) match.field = (u8)sqlcipherkit_field(m, match.row, runs);
    sqlcipherkit_locate(m, shown, missing, runs, beside, &match);
    if (m->rc != SQLITE_OK) return;
    match.before = sqlcipherkit_rule_key(q, &match, 0);
    match.after = sqlcipherkit_rule_key(q, &match, 1);
    const int is_full = answer->count == q->wanted;
    int may_enter = q->wanted > 0 && (!is_full || match.before <= answer->matches[0].before);
    /* A row that cannot be among the best whatever its length is not measured. */
    if (may_enter && is_full && match.before == answer->matches[0].before && m->has_relevance) {
        may_enter = sqlcipherkit_relevance(m, shown, 1) * fmax(1, q->highest_factor) >= answer->matches[0].relevance;
    }
    if (may_enter) {
        if (m->words->config->bColumnsize) sqlcipherkit_read_sizes(m, match.row);
        if (m->rc != SQLITE_OK) return;
        match.score = sqlcipherkit_relevance(m, shown, 0);
        match.relevance = m->has_relevance ? match.score : 0;
    }
    if (q->judge == NULL) return sqlcipherkit_accept(m, &match);
    if (may_enter && is_full) {
        sqlcipherkit_match best = match;
        best.relevance = fmax(0, best.relevance * q->highest_factor);
        may_enter = sqlcipherkit_compare_matches(&best, &answer->matches[0]) < 0;
    }
    if (may_enter || m->judged + m->pending < q->judge_all_up_to) {
        m->batch[m->pending++] = match;
        if (m->pending == sqlcipherkit_batch) sqlcipherkit_judge_pending(m);
    } else if (q->rejects) {
        answer->unjudged++;
    } else {
        sqlcipherkit_count(m, &match);
    }
}
