/* Finds the rows that match user input, best first. engine.c includes this after the amalgamation; nothing else does. */

/* Finds the first of the only rows whose key is not before `from`. Returns whether there is one. */
static int sqlcipherkit_next_only(sqlcipherkit_matching *m, i64 from, i64 *row) {
    const sqlcipherkit_question *q = m->question;
    m->steps++;
    for (; m->only < q->only_count; m->only++) {
        *row = sqlcipherkit_row_key(m, q->only[m->flip == 0 ? m->only : q->only_count - 1 - m->only]);
        if (*row >= from) return 1;
    }
    return 0;
}

/* Finds the first row, from the key `from` on, that may have enough words. Returns whether there is one. */
static int sqlcipherkit_next_row(sqlcipherkit_matching *m, i64 from, int leaders, i64 *row) {
    if (m->question->only != NULL) return sqlcipherkit_next_only(m, from, row);
    int any = 0;
    for (int i = 0; i < leaders; i++) {
        sqlcipherkit_lists *slot = &m->slots[m->order[i]];
        sqlcipherkit_go_all(m, slot, from);
        if (slot->count > 0 && (!any || slot->heap[0]->row < *row)) {
            *row = slot->heap[0]->row;
            any = 1;
        }
    }
    return any;
}

/* Returns whether the row has all words of a group that excludes it. */
static int sqlcipherkit_is_excluded(sqlcipherkit_matching *m, i64 row) {
    const sqlcipherkit_question *q = m->question;
    unsigned int groups = 0, lacking = 0;
    for (int i = m->wanted_slots; i < m->slot_count && m->rc == SQLITE_OK; i++) {
        sqlcipherkit_lists *slot = &m->slots[m->order[i]];
        const unsigned int group = 1u << (q->slots[m->order[i]].excluded & 31);
        groups |= group;
        sqlcipherkit_go_all(m, slot, row);
        if (slot->count == 0 || slot->heap[0]->row != row) lacking |= group;
    }
    return (groups & ~lacking) != 0;
}

/* Returns the least that a row pays which lacks these words at least, so many of them. */
static int sqlcipherkit_least(const sqlcipherkit_matching *m, int cost, int missing) {
    return sqlcipherkit_may_be_too_many(m, missing) ? 0 : cost;
}

/* Returns how many of the first slots lead: a row without all of these lacks more than `missing` words or pays more than `most`. */
static int sqlcipherkit_leaders(const sqlcipherkit_matching *m, int missing, int most) {
    for (int count = 1, cost = 0; count <= missing; count++) {
        cost += m->question->slots[m->order[count - 1]].cost;
        if (sqlcipherkit_least(m, cost, count) > most) return count;
    }
    return missing + 1;
}

static void sqlcipherkit_walk(sqlcipherkit_matching *m) {
    const sqlcipherkit_question *q = m->question;
    sqlcipherkit_answer *answer = m->answer;
    const int wanted = m->wanted_slots, minimum = sqlcipherkit_greater(1, sqlcipherkit_lesser(q->minimum, wanted));
    const int missing = wanted - minimum;
    int most = INT32_MAX, leaders = missing + 1;
    i64 row = 0;
    for (i64 from = INT64_MIN; m->rc == SQLITE_OK && !sqlcipherkit_is_spent(m); from = row + 1) {
        if (q->prunes && q->wanted > 0 && answer->count == q->wanted && answer->matches[0].cost < most) {
            most = answer->matches[0].cost;
            leaders = sqlcipherkit_leaders(m, missing, most);
        }
        if (leaders <= missing) answer->is_complete = 0;
        if (!sqlcipherkit_next_row(m, from, leaders, &row) || m->rc != SQLITE_OK) break;
        unsigned int present = 0;
        int lacking = 0, cost = 0, is_over = row == INT64_MAX;
        i64 next = row;
        for (int i = 0; i < wanted && lacking <= missing; i++) {
            sqlcipherkit_lists *slot = &m->slots[m->order[i]];
            sqlcipherkit_go_all(m, slot, row);
            if (m->rc != SQLITE_OK) return;
            if (slot->count > 0 && slot->heap[0]->row == row) {
                present |= 1u << m->order[i];
                continue;
            }
            cost += q->slots[m->order[i]].cost;
            if (++lacking <= missing && sqlcipherkit_least(m, cost, lacking) > most) {
                answer->is_complete = 0;
                lacking = missing + 1;
            }
            if (missing == 0) {
                /* All slots must have the row, so the next candidate is this slot's row. */
                if (slot->count == 0) is_over = 1;
                else next = sqlcipherkit_greater(next, slot->heap[0]->row - 1);
            }
        }
        if (lacking <= missing && !sqlcipherkit_is_excluded(m, row) && m->rc == SQLITE_OK) {
            /* A list that was given up on the way does not tell what the row has. */
            if (sqlcipherkit_is_spent(m)) break;
            sqlcipherkit_rate(m, row, present);
        }
        if (is_over) break;
        row = next;
    }
    sqlcipherkit_judge_pending(m);
}

static void sqlcipherkit_begin(sqlcipherkit_matching *m) {
    const sqlcipherkit_question *q = m->question;
    int tokens = 0;
    for (int i = 0; i < q->alternative_count; i++) tokens += q->alternatives[i].count;
    m->sources = sqlcipherkit_zeroed(&m->rc, (i64)sizeof *m->sources * (q->alternative_count + 1));
    m->heaps = sqlcipherkit_zeroed(&m->rc, (i64)sizeof *m->heaps * (q->alternative_count + 1));
    m->list_words = sqlcipherkit_zeroed(&m->rc, (i64)sizeof *m->list_words * (tokens + 1));
    m->columns = sqlcipherkit_zeroed(&m->rc, (i64)sizeof *m->columns * (q->slot_count + 1));
    m->sizes = sqlcipherkit_zeroed(&m->rc, (i64)sizeof *m->sizes * (m->words->config->nCol + 1));
    if (m->rc == SQLITE_OK) m->rc = sqlcipherkit_load(m->words, q, tokens);
    if (m->rc != SQLITE_OK) return;
    int source = 0, word = 0;
    for (int slot = 0; slot < q->slot_count; slot++) {
        sqlcipherkit_lists *lists = &m->slots[slot];
        lists->heap = &m->heaps[source];
        lists->documents = q->slots[slot].documents;
        if (q->slots[slot].column_count > 0) {
            int count = q->slots[slot].column_count;
            Fts5Colset *set = sqlcipherkit_zeroed(&m->rc, SZ_FTS5COLSET(count));
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
            if (a->typos == 0) m->is_known[slot] = 1;
            s->words = &m->list_words[word];
            s->count = a->count;
            const double rows = (double)sqlcipherkit_greater(sqlcipherkit_greater(m->rows, q->rows), a->documents);
            s->weight = fmax(1e-6, log((rows - (double)a->documents + 0.5) / ((double)a->documents + 0.5)));
            int is_there = 1;
            for (int t = 0; t < a->count && m->rc == SQLITE_OK; t++) {
                sqlcipherkit_open_list(m, &m->list_words[word], &q->tokens[a->first + t], m->columns[slot]);
                if (m->list_words[word++].is_done) is_there = 0;
            }
            source++;
            if (m->rc != SQLITE_OK) return;
            if (!is_there) continue;
            sqlcipherkit_go(m, s, INT64_MIN);
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
            const int is_before = !q->slots[other].excluded != !q->slots[moved].excluded
                ? q->slots[other].excluded != 0 : m->slots[other].documents > m->slots[moved].documents;
            if (!is_before) break;
            m->order[j] = other;
            j--;
        }
        m->order[j] = moved;
    }
}

static int sqlcipherkit_heaviest(const Fts5Config *config, const double *weights) {
    int heaviest = -1;
    for (int c = 0; c < config->nCol; c++) {
        if (!config->abUnindexed[c] && (heaviest < 0 || weights[c] > weights[heaviest])) heaviest = c;
    }
    return sqlcipherkit_greater(0, heaviest);
}

int sqlcipherkit_words_match(sqlcipherkit_words *words, const sqlcipherkit_question *question, sqlcipherkit_answer *answer) {
    memset(answer, 0, sizeof *answer);
    if (question->slot_count > sqlcipherkit_max_slots || question->slot_count < 1) return SQLITE_MISUSE;
    sqlcipherkit_matching *m = sqlite3_malloc64(sizeof *m);
    if (m == NULL) return SQLITE_NOMEM;
    memset(m, 0, offsetof(sqlcipherkit_matching, batch));
    m->words = words;
    m->question = question;
    m->answer = answer;
    m->slot_count = question->slot_count;
    /* FTS5 finds tokens with data in ascending order only. */
    m->flip = words->config->bTokendata ? 0 : -1;
    answer->is_ascending = m->flip == 0;
    answer->is_complete = 1;
    m->has_places = words->config->eDetail == FTS5_DETAIL_FULL;
    for (int i = 0; i < question->rule_count; i++) {
        if (question->rules[i] == sqlcipherkit_rule_relevance) m->has_relevance = 1;
    }
    for (int i = 0; i < question->slot_count; i++) m->wanted_slots += question->slots[i].excluded == 0;
    answer->matches = sqlcipherkit_zeroed(&m->rc, (i64)sizeof *answer->matches * (question->wanted + 1));
    i64 *totals = sqlcipherkit_zeroed(&m->rc, (i64)sizeof *totals * (words->config->nCol + 1));
    m->averages = sqlcipherkit_zeroed(&m->rc, (i64)sizeof *m->averages * (words->config->nCol + 1));
    if (m->rc == SQLITE_OK) m->rc = sqlcipherkit_read_averages(words, &m->rows, totals);
    for (int c = 0; c < words->config->nCol && m->rc == SQLITE_OK; c++) {
        m->averages[c] = fmax(1, m->rows > 0 ? (double)totals[c] / (double)m->rows : 1);
    }
    m->heaviest = sqlcipherkit_heaviest(words->config, question->weights);
    answer->heaviest = m->heaviest;
    if (m->rc == SQLITE_OK) sqlcipherkit_begin(m);
    if (m->rc == SQLITE_OK && m->wanted_slots > 0) sqlcipherkit_walk(m);
    if (m->rc == SQLITE_OK && answer->count > 0) {
        qsort(answer->matches, (size_t)answer->count, sizeof *answer->matches, sqlcipherkit_compare_matches);
    }
    answer->steps = m->steps;
    for (int i = 0; m->sources != NULL && i < question->alternative_count; i++) sqlite3_free(m->sources[i].phrase.p);
    int tokens = 0;
    for (int i = 0; i < question->alternative_count; i++) tokens += question->alternatives[i].count;
    for (int i = 0; m->list_words != NULL && i < tokens; i++) sqlite3Fts5IterClose(m->list_words[i].iterator);
    for (int i = 0; m->columns != NULL && i < question->slot_count; i++) sqlite3_free(m->columns[i]);
    sqlite3_free(totals);
    sqlite3_free(m->sources);
    sqlite3_free(m->heaps);
    sqlite3_free(m->list_words);
    sqlite3_free(m->columns);
    sqlite3_free(m->sizes);
    sqlite3_free(m->averages);
    for (int i = 0; i < question->slot_count; i++) sqlite3_free(m->had[i].places);
    sqlite3_free(m->runs);
    sqlite3_free(m->next_runs);
    int rc = m->rc;
    sqlite3_free(m);
    return rc;
}

void sqlcipherkit_answer_free(sqlcipherkit_answer *answer) {
    sqlite3_free(answer->matches);
    sqlite3_free(answer->rows);
    memset(answer, 0, sizeof *answer);
}
