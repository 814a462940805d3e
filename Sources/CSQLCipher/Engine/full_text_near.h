/* Finds words of a full-text index near a typed word. engine.c includes this after the amalgamation; nothing else does.
 *
 * An automaton follows the order of terms in the index. Each state is a row of the edit-distance table, for the characters of a
 * term so far. If no continuation of a row can stay within the limit, the next term that can is computed and sought, so most of the
 * words in between are never read. */

enum { sqlcipherkit_max_word = 48, sqlcipherkit_max_depth = 2 * sqlcipherkit_max_word };

typedef struct {
    /* The typed word as Unicode scalars. */
    u32 word[sqlcipherkit_max_word];
    int length;
    int edits;
    int first;
    int prefix;
    int pages;
    /* The rows of the table, after each of the first `depth` scalars of the term. */
    u32 scalars[sqlcipherkit_max_depth + 1];
    int ends[sqlcipherkit_max_depth + 2];
    u8 rows[sqlcipherkit_max_depth + 2][sqlcipherkit_max_word + 1];
    u8 best[sqlcipherkit_max_depth + 2];
    u8 lowest[sqlcipherkit_max_depth + 2];
    int depth;
    u8 bytes[4 * sqlcipherkit_max_depth + 8];
    int count;
} sqlcipherkit_automaton;

/* Reads a scalar and returns its length in bytes. A byte that is not valid UTF-8 counts as a scalar of its own, above all
 * others. */
static int sqlcipherkit_scalar(const u8 *bytes, int count, u32 *scalar) {
    const u8 a = bytes[0];
    int length = a < 0x80 ? 1 : a < 0xc2 ? 0 : a < 0xe0 ? 2 : a < 0xf0 ? 3 : a < 0xf5 ? 4 : 0;
    if (length == 0 || length > count) length = 0;
    for (int i = 1; i < length; i++) {
        if ((bytes[i] & 0xc0) != 0x80) length = 0;
    }
    switch (length) {
        case 1: *scalar = a; break;
        case 2: *scalar = (u32)(a & 0x1f) << 6 | (bytes[1] & 0x3f); break;
        case 3: *scalar = (u32)(a & 0x0f) << 12 | (u32)(bytes[1] & 0x3f) << 6 | (bytes[2] & 0x3f); break;
        case 4:
            *scalar = (u32)(a & 0x07) << 18 | (u32)(bytes[1] & 0x3f) << 12 | (u32)(bytes[2] & 0x3f) << 6 | (bytes[3] & 0x3f);
            break;
        default: *scalar = 0x110000u + a; return 1;
    }
    return length;
}

static int sqlcipherkit_put_scalar(u8 *out, u32 scalar) {
    if (scalar < 0x80) {
        out[0] = (u8)scalar;
        return 1;
    }
    if (scalar < 0x800) {
        out[0] = (u8)(0xc0 | scalar >> 6);
        out[1] = (u8)(0x80 | (scalar & 0x3f));
        return 2;
    }
    if (scalar < 0x10000) {
        out[0] = (u8)(0xe0 | scalar >> 12);
        out[1] = (u8)(0x80 | (scalar >> 6 & 0x3f));
        out[2] = (u8)(0x80 | (scalar & 0x3f));
        return 3;
    }
    if (scalar < 0x110000) {
        out[0] = (u8)(0xf0 | scalar >> 18);
        out[1] = (u8)(0x80 | (scalar >> 12 & 0x3f));
        out[2] = (u8)(0x80 | (scalar >> 6 & 0x3f));
        out[3] = (u8)(0x80 | (scalar & 0x3f));
        return 4;
    }
    out[0] = (u8)(scalar - 0x110000u);
    return 1;
}

/* Returns how many edits a term may have that begins with this scalar, or -1 if it cannot match. */
static int sqlcipherkit_allowed(const sqlcipherkit_automaton *a, u32 first) {
    if (first == a->word[0]) return a->edits;
    /* Another first character of the same script: the first two letters are swapped, or the first one is added, missing or
     * wrong. */
    u32 own = a->word[0];
    int alike = own < 0x250 ? first < 0x250 : first >> 8 == own >> 8;
    return alike ? a->first : -1;
}

static void sqlcipherkit_step(sqlcipherkit_automaton *a, u32 scalar) {
    const int depth = a->depth;
    const u8 *above = a->rows[depth];
    u8 *row = a->rows[depth + 1];
    /* Cells further from the diagonal than the number of edits cannot be within the limit, and are set to 250. */
    const int width = sqlcipherkit_greater(a->edits, a->first);
    const int begin = sqlcipherkit_lesser(sqlcipherkit_greater(0, depth - width), a->length);
    const int end = sqlcipherkit_lesser(a->length, depth + 1 + width);
    int lowest = 250;
    row[0] = (u8)sqlcipherkit_lesser(depth + 1, 250);
    if (begin > 0) row[begin] = 250;
    else lowest = row[0];
    for (int i = begin; i < end; i++) {
        const u32 wanted = a->word[i];
        int cost = above[i] + (wanted != scalar);
        cost = sqlcipherkit_lesser(cost, above[i + 1] + 1);
        cost = sqlcipherkit_lesser(cost, row[i] + 1);
        if (depth > 0 && i > 0 && wanted == a->scalars[depth - 1] && a->word[i - 1] == scalar) {
            cost = sqlcipherkit_lesser(cost, a->rows[depth - 1][i - 1] + 1);
        }
        row[i + 1] = (u8)sqlcipherkit_lesser(cost, 250);
        lowest = sqlcipherkit_lesser(lowest, row[i + 1]);
    }
    for (int i = end + 1; i <= a->length; i++) row[i] = 250;
    a->lowest[depth + 1] = (u8)lowest;
    a->scalars[depth] = scalar;
    a->depth = depth + 1;
    /* The distance of the nearest beginning of the term so far. */
    a->best[depth + 1] = sqlcipherkit_lesser(a->best[depth], row[a->length]);
}

/* Returns whether a term that begins with the first `depth` scalars can still be within the limit. */
static int sqlcipherkit_is_alive(const sqlcipherkit_automaton *a, int depth) {
    if (depth == 0) return 1;
    int allowed = sqlcipherkit_allowed(a, a->scalars[0]);
    if (allowed < 0) return 0;
    if (a->prefix && a->best[depth] <= allowed) return 1;
    /* The lowest number of errors includes the first half of a swap, which so far counts as one letter too many. */
    return a->lowest[depth] <= allowed;
}

/* Returns the smallest scalar greater than `above` that can follow the first `depth` scalars; 0 if there is none. */
static u32 sqlcipherkit_next_scalar(const sqlcipherkit_automaton *a, int depth, u32 above) {
    if (above >= 0x110000u + 0xff) return 0;
    if (depth == 0) {
        if (a->first >= 0) {
            u32 own = a->word[0], next = above + 1;
            u32 low = own < 0x250 ? 1 : own & ~0xffu, high = own < 0x250 ? 0x24f : own | 0xff;
            if (next <= low) return low;
            return next <= high ? next : 0;
        }
        return above < a->word[0] ? a->word[0] : 0;
    }
    int allowed = sqlcipherkit_allowed(a, a->scalars[0]);
    if (allowed < 0) return 0;
    /* If an edit is left, or the whole word has matched already, any scalar can follow. */
    if (a->lowest[depth] < allowed || (a->prefix && a->best[depth] <= allowed)) return above + 1;
    u32 next = 0;
    for (int i = 0; i < a->length; i++) {
        /* The second letter of a swap is included: so far the first counts as one letter too many. */
        int goes = a->rows[depth][i] <= allowed;
        if (goes && a->word[i] > above && (next == 0 || a->word[i] < next)) next = a->word[i];
    }
    return next;
}

/* Runs the automaton over a term. Returns how many of its scalars were read before it could no longer match, or -1 if all were. */
static int sqlcipherkit_run(sqlcipherkit_automaton *a, const u8 *term, int count) {
    /* The beginning that the term shares with the term before it need not be computed again. */
    int same = 0;
    const int limit = sqlcipherkit_lesser(count, a->count);
    while (same < limit && a->bytes[same] == term[same]) same++;
    while (a->depth > 0 && a->ends[a->depth] > same) a->depth--;
    int offset = a->ends[a->depth];
    a->count = offset;
    if (!sqlcipherkit_is_alive(a, a->depth)) return a->depth;
    while (offset < count) {
        if (a->depth >= sqlcipherkit_max_depth) return a->depth;
        u32 scalar;
        int length = sqlcipherkit_scalar(term + offset, count - offset, &scalar);
        sqlcipherkit_step(a, scalar);
        memcpy(a->bytes + offset, term + offset, (size_t)length);
        offset += length;
        a->ends[a->depth] = offset;
        a->count = offset;
        if (!sqlcipherkit_is_alive(a, a->depth)) return a->depth;
    }
    return -1;
}

/* After a term that failed at its first `depth` scalars, writes the next bytes to seek to `target`. Returns their number, or 0 if
 * no further term can match. */
static int sqlcipherkit_target(sqlcipherkit_automaton *a, int depth, u8 *target) {
    for (int d = depth - 1; d >= 0; d--) {
        u32 next = sqlcipherkit_next_scalar(a, d, a->scalars[d]);
        if (next != 0) {
            /* Surrogates are not scalars. */
            if (next >= 0xd800 && next < 0xe000) next = 0xe000;
            memcpy(target, a->bytes, (size_t)a->ends[d]);
            return a->ends[d] + sqlcipherkit_put_scalar(target + a->ends[d], next);
        }
    }
    return 0;
}

static int sqlcipherkit_scan_near(sqlcipherkit_segment *s, void *context, sqlcipherkit_terms *found) {
    sqlcipherkit_automaton *a = context;
    u8 target[sizeof a->bytes + 8];
    target[0] = sqlcipherkit_main_index;
    a->depth = a->count = 0;
    a->ends[0] = 0;
    int count = 0, rc = SQLITE_OK;
    u32 first = sqlcipherkit_next_scalar(a, 0, 0);
    if (first == 0) return SQLITE_OK;
    count = sqlcipherkit_put_scalar(target + 1, first);
    sqlcipherkit_seek(s, target, count + 1);
    while (rc == SQLITE_OK && !s->is_done && s->term.p[0] == sqlcipherkit_main_index) {
        if (s->pages > a->pages) {
            found->is_complete = 0;
            break;
        }
        const u8 *term = s->term.p + 1;
        int taken = sqlcipherkit_run(a, term, s->term.n - 1);
        if (taken < 0) {
            int allowed = a->depth > 0 ? sqlcipherkit_allowed(a, a->scalars[0]) : -1;
            int distance = a->prefix ? a->best[a->depth] : a->rows[a->depth][a->length];
            if (distance <= allowed) rc = sqlcipherkit_take_term(s, found, distance);
            if (rc == SQLITE_OK) sqlcipherkit_next_term(s);
            continue;
        }
        count = sqlcipherkit_target(a, taken, target + 1);
        if (count == 0) break;
        /* Bytes that are not UTF-8 are sorted differently than scalars. */
        if (sqlcipherkit_compare_bytes(s->term.p, s->term.n, target, count + 1) >= 0) {
            sqlcipherkit_next_term(s);
        } else {
            sqlcipherkit_seek(s, target, count + 1);
        }
    }
    return rc;
}

int sqlcipherkit_words_near(
    sqlcipherkit_words *words, const char *word, int count, int edits, int first, int prefix, int pages,
    sqlcipherkit_terms *found) {
    memset(found, 0, sizeof *found);
    found->is_complete = 1;
    sqlcipherkit_automaton *a = sqlite3_malloc64(sizeof *a);
    if (a == NULL) return SQLITE_NOMEM;
    memset(a, 0, sizeof *a);
    for (int offset = 0; offset < count;) {
        if (a->length == sqlcipherkit_max_word) {
            /* Longer words have been pasted rather than mistyped. */
            sqlite3_free(a);
            return SQLITE_OK;
        }
        offset += sqlcipherkit_scalar((const u8 *)word + offset, count - offset, &a->word[a->length++]);
    }
    a->edits = edits;
    a->first = first;
    a->prefix = prefix;
    a->pages = pages;
    for (int i = 0; i <= a->length; i++) a->rows[0][i] = (u8)i;
    a->best[0] = (u8)a->length;
    int rc = a->length == 0 ? SQLITE_OK : sqlcipherkit_each_segment(words, sqlcipherkit_scan_near, a, found);
    sqlite3_free(a);
    return rc;
}
