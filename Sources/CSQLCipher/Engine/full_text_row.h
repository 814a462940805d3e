/* Judges a row that user input may mean, and keeps the best. engine.c includes this after the amalgamation; nothing else does. */

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
