/* Reads what the tables of a full-text index hold. engine.c includes this after the amalgamation; nothing else does.
 *
 * The bytes may come from an attacker, so the other fragments read them through these functions alone. A reader never reads at or
 * beyond `end`, needs no padding after it, and stays damaged once a number or a part goes beyond it. A size is at most
 * LARGEST_INT32 and says nothing yet: pass over that many bytes to know that they are there. */

typedef struct {
    const u8 *bytes;
    /* Where to go on; beyond `end` after damage. */
    int at;
    int end;
} sqlcipherkit_reader;

static int sqlcipherkit_is_damaged(const sqlcipherkit_reader *r) { return r->at > r->end; }

static u64 sqlcipherkit_damaged(sqlcipherkit_reader *r) {
    r->at = r->end + 1;
    return 0;
}

/* Reads a number of several bytes: 7 bits in each of up to eight, and 8 in a ninth. */
static u64 sqlcipherkit_read_long(sqlcipherkit_reader *r) {
    u64 number = 0;
    for (int i = 0; r->at < r->end; i++) {
        const u8 byte = r->bytes[r->at++];
        if (i == 8) return number << 8 | byte;
        number = number << 7 | (byte & 0x7f);
        if (byte < 0x80) return number;
    }
    return sqlcipherkit_damaged(r);
}

static inline u64 sqlcipherkit_read_number(sqlcipherkit_reader *r) {
    return r->at < r->end && r->bytes[r->at] < 0x80 ? r->bytes[r->at++] : sqlcipherkit_read_long(r);
}

/* Reads a size or a distance. */
static inline int sqlcipherkit_read_size(sqlcipherkit_reader *r) {
    const u64 number = sqlcipherkit_read_number(r);
    return (int)(number <= (u64)LARGEST_INT32 ? number : sqlcipherkit_damaged(r));
}

/* Passes over a part. Returns its address; NULL after damage. */
static inline const u8 *sqlcipherkit_read_part(sqlcipherkit_reader *r, int size) {
    if (size > r->end - r->at) {
        sqlcipherkit_damaged(r);
        return NULL;
    }
    r->at += size;
    return &r->bytes[r->at - size];
}

/* Reads the next of a word's positions in a row: the column in the upper half, or columns alone. Returns 0 after the last one, and
 * after damage. `place` is 0 at first. */
static inline int sqlcipherkit_read_place(sqlcipherkit_reader *r, i64 *place) {
    if (r->at >= r->end) return 0;
    int step = sqlcipherkit_read_size(r);
    if (step == 1) {
        *place = (i64)sqlcipherkit_read_size(r) << 32;
        step = sqlcipherkit_read_size(r);
    }
    if (step < 2 || step - 2 > LARGEST_INT32 - (int)(*place & LARGEST_INT32)) sqlcipherkit_damaged(r);
    *place += step - 2;
    return !sqlcipherkit_is_damaged(r);
}
