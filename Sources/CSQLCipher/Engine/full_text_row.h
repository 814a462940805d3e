/* Judges a row that user input may mean, and keeps the best. engine.c includes this after the amalgamation; nothing else does. */

/* What a row has for a slot: the fewest typing errors, the best exactness anywhere, the first column, and the best exactness in
 * it. */
typedef struct {
    int typos;
    int exactness;
    int column;
    int there;
    double frequency;
    double weight;
} sqlcipherkit_found;

static void sqlcipherkit_insert_place(sqlcipherkit_matching *m, int slot, i64 place, const sqlcipherkit_alternative *a) {
    int n = m->place_count[slot];
    i64 *places = m->places[slot];
    if (n == sqlcipherkit_max_places) {
        if (places[n - 1] <= place) return;
        n--;
    }
    int i = n;
    while (i > 0 && places[i - 1] > place) {
        places[i] = places[i - 1];
        m->lengths[slot][i] = m->lengths[slot][i - 1];
        m->exactness[slot][i] = m->exactness[slot][i - 1];
        i--;
    }
    places[i] = place;
    m->lengths[slot][i] = (u8)a->count;
    m->exactness[slot][i] = (u8)a->exactness;
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
    if (m->words->config->eDetail != FTS5_DETAIL_NONE) {
        const int has_places = m->words->config->eDetail == FTS5_DETAIL_FULL;
        sqlcipherkit_reader r = {s->places, 0, s->size};
        i64 place = 0;
        for (int taken = 0; (taken < sqlcipherkit_max_places || !has_places) && sqlcipherkit_read_place(&r, &place); taken++) {
            const i64 c = has_places ? FTS5_POS2COLUMN(place) : place;
            if (c >= m->words->config->nCol) {
                sqlcipherkit_damaged(&r);
                break;
            }
            frequency += m->question->weights[c];
            column = MIN(column, m->question->places[c]);
            if (has_places) sqlcipherkit_insert_place(m, slot, place, a);
        }
        if (sqlcipherkit_is_damaged(&r)) m->rc = FTS5_CORRUPT;
    } else {
        frequency = 1;
        column = 0;
    }
    found->exactness = MIN(found->exactness, a->exactness);
    if (column < found->column || (column == found->column && a->exactness < found->there)) {
        found->column = column;
        found->there = a->exactness;
    }
    found->frequency += frequency;
    found->weight = MAX(found->weight, s->weight);
others:
    sqlcipherkit_look(m, slot, 2 * i + 1, row, found);
    sqlcipherkit_look(m, slot, 2 * i + 2, row, found);
}

/* Returns the distance between two slots: 0 if the second directly follows the first, 1 if one word is between them or they are
 * swapped, and so on; `farthest` if they are further apart or in different columns. */
static int sqlcipherkit_distance(const sqlcipherkit_matching *m, int a, int b, int farthest) {
    int nearest = farthest, i = 0, j = 0;
    while (i < m->place_count[a] && j < m->place_count[b]) {
        const i64 first = m->places[a][i], second = m->places[b][j];
        /* A distance backwards counts one more. */
        i64 distance = second > first ? second - first - m->lengths[a][i] : first - second - m->lengths[b][j] + 1;
        distance = MAX(0, distance);
        if (distance < nearest && FTS5_POS2COLUMN(first) == FTS5_POS2COLUMN(second)) nearest = (int)distance;
        if (second > first) i++;
        else j++;
    }
    return nearest;
}

/* Returns the position of the first column, in the order of columns, in which the row has all words side by side, as they were
 * typed, with typing errors, or in other forms; with `best`, each as near to what was typed as the row has it anywhere. -1 if there
 * is none. A word that is still being typed may go on. */
static int sqlcipherkit_side_by_side(const sqlcipherkit_matching *m, unsigned int present, const int *best) {
    const sqlcipherkit_question *q = m->question;
    i64 ends[sqlcipherkit_max_places];
    int count = -1;
    for (int slot = 0; slot < m->slot_count; slot++) {
        if (q->slots[slot].excluded) continue;
        if ((present >> slot & 1) == 0) return -1;
        i64 next[sqlcipherkit_max_places];
        int found = 0;
        for (int i = 0; i < m->place_count[slot]; i++) {
            const int exactness = m->exactness[slot][i];
            if (best != NULL ? exactness > best[slot] : exactness == 2 && !q->slots[slot].is_open) continue;
            int follows = count < 0;
            for (int j = 0; j < count && !follows; j++) follows = ends[j] == m->places[slot][i];
            if (follows) next[found++] = m->places[slot][i] + m->lengths[slot][i];
        }
        if (found == 0) return -1;
        memcpy(ends, next, (size_t)found * sizeof *next);
        count = found;
    }
    int first = -1;
    for (int j = 0; j < count; j++) {
        const int place = q->places[FTS5_POS2COLUMN(ends[j])];
        if (first < 0 || place < first) first = place;
    }
    return first;
}

/* Whether a row pays less for the words that it lacks if the others stand together. */
static int sqlcipherkit_is_discounted(int missing, int words) { return missing > 0 && words > 1 && 2 * missing <= words; }

/* Whether each of the words that the row has is beside another one of them, in any order. */
static int sqlcipherkit_is_together(const sqlcipherkit_matching *m, unsigned int present) {
    for (int i = 0; i < m->slot_count; i++) {
        int is_beside = (present >> i & 1) == 0;
        for (int j = 0; j < m->slot_count && !is_beside; j++) {
            is_beside = j != i && (present >> j & 1)
                && (sqlcipherkit_distance(m, i, j, 1) == 0 || sqlcipherkit_distance(m, j, i, 1) == 0);
        }
        if (!is_beside) return 0;
    }
    return 1;
}

/* Other forms side by side in a later column are no better than all words as typed. */
enum { sqlcipherkit_phrase_of_forms = 3 };

static sqlite3_uint64 sqlcipherkit_rule_key(const sqlcipherkit_question *q, const sqlcipherkit_match *match, int after) {
    sqlite3_uint64 key = 0;
    int is_after = 0, bits = 0;
    for (int i = 0; i < q->rule_count; i++) {
        int value = 0;
        switch (q->rules[i]) {
            case sqlcipherkit_rule_words: value = match->cost; break;
            case sqlcipherkit_rule_typos: value = match->typos; break;
            case sqlcipherkit_rule_proximity: value = match->proximity; break;
            case sqlcipherkit_rule_column: value = match->column; break;
            case sqlcipherkit_rule_exactness: value = match->exactness; break;
            case sqlcipherkit_rule_phrase: value = match->phrase == sqlcipherkit_phrase_of_forms ? 1 : match->phrase; break;
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

/* Returns bm25, for a text of `length` times the average. */
static double sqlcipherkit_relevance(const sqlcipherkit_matching *m, unsigned int present, double length) {
    const double k1 = 1.2, b = 0.75;
    double sum = 0;
    for (int i = 0; i < m->slot_count; i++) {
        if ((present >> i & 1) == 0) continue;
        const double f = m->frequency[i];
        sum += m->weight[i] * (f * (k1 + 1)) / (f + k1 * (1 - b + b * length));
    }
    return sum;
}

/* Returns the highest relevance that the row can have, however short its text is. */
static double sqlcipherkit_highest(const sqlcipherkit_matching *m, unsigned int present) {
    for (int i = 0; i < m->slot_count; i++) {
        /* Columns can have weights below 0. */
        if ((present >> i & 1) && m->frequency[i] < 0) return 1e300;
    }
    return sqlcipherkit_relevance(m, present, 0);
}

/* The number of rows whose length is looked up, among those with as many words, of the same cost, and as many typing errors. These
 * are the first on the way, however many rows are asked for and whatever else is looked for, so that a row's relevance is always
 * the same. */
enum { sqlcipherkit_measured_rows = 2000 };

/* Returns the length of the row's text, as a multiple of the average. */
static double sqlcipherkit_length(sqlcipherkit_matching *m, i64 row) {
    m->rc = sqlite3Fts5StorageDocsize(m->words->table->pStorage, row, m->sizes);
    double length = 0;
    for (int c = 0; c < m->words->config->nCol; c++) length += m->sizes[c];
    return length / m->average;
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
        sqlcipherkit_accept(m, &m->batch[i]);
    }
}

/* Returns what a row pays for a word that it has only as another one: longer, mistyped, or in another form. Far from the others,
 * that is as much as it would pay without it, had it the others together in the first column. Another form in the first of several
 * columns is not there by chance. A mistyped word costs more where the index has what was typed, and less where it does not: the
 * nearest words are then what was meant, if the row has all others. */
static int sqlcipherkit_other_cost(const sqlcipherkit_matching *m, int slot, int exactness, int is_beside, int missing) {
    const int cost = m->question->slots[slot].cost, is_form = exactness == 1, is_known = m->has_typed[slot];
    if (exactness > 2 && is_known) return is_beside ? (cost + 4) / 5 : (cost + 1) / 2;
    const int is_nearest = exactness == 3 && missing == 0;
    if (is_beside || (is_form && m->is_first[slot]) || is_nearest) return missing > 0 ? (cost + 9) / 10 : 0;
    return is_form || is_known ? (cost + 4) / 5 : (cost + 5) / 6;
}

static void sqlcipherkit_rate(sqlcipherkit_matching *m, i64 row, unsigned int present) {
    const sqlcipherkit_question *q = m->question;
    sqlcipherkit_answer *answer = m->answer;
    const int has_places = m->words->config->eDetail == FTS5_DETAIL_FULL;
    sqlcipherkit_match match = {.row = sqlcipherkit_row_key(m, row), .present = present};
    int typos = 0, column = 0, exactness = 0, proximity = 0, words = 0, missing = 0, cost = 0, before = -1, is_typed = 1,
        is_meant = 1;
    unsigned int other = 0;
    int exact[sqlcipherkit_max_slots];
    for (int i = 0; i < m->slot_count; i++) {
        m->place_count[i] = 0;
        if (q->slots[i].excluded) continue;
        if ((present >> i & 1) == 0) {
            cost += q->slots[i].cost;
            missing++;
            continue;
        }
        sqlcipherkit_found found = {sqlcipherkit_fewest(&m->slots[i], 0, row), 255, 255, 255, 0, 0};
        sqlcipherkit_look(m, i, 0, row, &found);
        if (m->rc != SQLITE_OK) return;
        words++;
        typos += found.typos;
        column += MIN(found.column, 15);
        exactness += m->is_column_first ? found.there : found.exactness;
        /* What the index lacks was mistyped, and its nearest words are meant. */
        const int is_nearest = found.exactness == 0 || (found.exactness == 3 && !m->has_typed[i]);
        const int is_open = found.typos == 0 && found.exactness == 2 && q->slots[i].is_open;
        is_typed = is_typed && is_nearest;
        is_meant = is_meant && (is_nearest || is_open);
        m->frequency[i] = found.frequency;
        m->weight[i] = found.weight;
        exact[i] = found.exactness;
        m->is_first[i] = found.column == 0 && m->words->config->nCol > 1;
        /* A word that is still being typed may be any longer one. */
        if (found.exactness > 0 && !is_open) other |= 1u << i;
        if (before >= 0) proximity += sqlcipherkit_distance(m, before, i, sqlcipherkit_far);
        before = i;
    }
    /* A word too many costs little if all others stand together: less still in the first column. */
    if (sqlcipherkit_is_discounted(missing, words) && has_places && sqlcipherkit_is_together(m, present)) {
        cost = column == 0 ? (cost + 4) / 5 : (cost + 1) / 2;
    }
    /* A word that only resembles a typed one, or is another form of it, counts in full beside another of the words. */
    for (int i = 0; i < m->slot_count && other != 0 && words > 1 && has_places; i++) {
        if ((other >> i & 1) == 0) continue;
        int is_beside = 0;
        for (int j = 0; j < m->slot_count && !is_beside; j++) {
            is_beside = j != i && (present >> j & 1) && sqlcipherkit_distance(m, i, j, sqlcipherkit_beside) < sqlcipherkit_beside;
        }
        cost += sqlcipherkit_other_cost(m, i, exact[i], is_beside, missing);
    }
    match.phrase = m->wanted_slots > 1 ? is_typed ? 1 : 2 : 0;
    const int beside = m->wanted_slots > 1 && has_places ? sqlcipherkit_side_by_side(m, present, NULL) : -1;
    if (beside >= 0) {
        const int typed = sqlcipherkit_side_by_side(m, present, exact);
        match.phrase = beside == 0 || m->words->config->nCol == 1 || (is_meant && typed >= 0) ? 0 : sqlcipherkit_phrase_of_forms;
        column = words * MIN(beside, 15);
        exactness = 0;
        for (int i = 0; i < m->slot_count; i++) exactness += (present >> i & 1) ? exact[i] : 0;
        /* Better words elsewhere do not make these better. */
        exactness += typed != beside;
    }
    match.words = (u8)words;
    match.cost = (u8)MIN(cost, 255);
    match.typos = (u8)MIN(typos, 255);
    match.column = (u8)MIN(column, 255);
    match.exactness = (u8)MIN(exactness, 255);
    match.proximity = (u8)MIN(proximity, 255);
    match.before = sqlcipherkit_rule_key(q, &match, 0);
    match.after = sqlcipherkit_rule_key(q, &match, 1);
    u16 *measured = &m->measured[MIN(words, 12)][MIN(cost, 127)][MIN(typos, 15)];
    const int is_measured = m->words->config->bColumnsize && *measured < sqlcipherkit_measured_rows && (*measured += 1);
    const int is_full = answer->count == q->wanted;
    int may_enter = q->wanted > 0 && (!is_full || match.before <= answer->matches[0].before);
    /* The shorter the text, the higher the relevance: a row that cannot be among the best at any length is not measured. */
    if (may_enter && is_full && match.before == answer->matches[0].before) {
        may_enter = sqlcipherkit_highest(m, present) * MAX(1, q->highest_factor) >= answer->matches[0].relevance;
    }
    if (may_enter) match.relevance = sqlcipherkit_relevance(m, present, is_measured ? sqlcipherkit_length(m, match.row) : 1);
    if (m->rc != SQLITE_OK) return;
    if (q->judge == NULL) return sqlcipherkit_accept(m, &match);
    if (may_enter && is_full) {
        sqlcipherkit_match best = match;
        best.relevance = MAX(0, best.relevance * q->highest_factor);
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
