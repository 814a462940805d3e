/* Reads what a file holds: pages, records, and the tables of a full-text index. engine.c includes this after the amalgamation;
 * nothing else does.
 *
 * The bytes may come from an attacker, so the other fragments read them through these functions alone. A reader never reads at or
 * beyond `end`, needs no padding after it, and stays damaged once a number or a part goes beyond it. A size is at most
 * INT32_MAX and says nothing yet: pass over that many bytes to know that they are there. */

#define SQLCIPHERKIT_INLINE inline __attribute__((always_inline))
#define SQLCIPHERKIT_OUTLINE __attribute__((noinline))

static inline i64 sqlcipherkit_lesser(i64 a, i64 b) { return a < b ? a : b; }
static inline i64 sqlcipherkit_greater(i64 a, i64 b) { return a > b ? a : b; }

typedef struct {
    const u8 *bytes;
    /* The place to go on from; beyond `end` after damage. */
    int at;
    int end;
} sqlcipherkit_reader;

static inline int sqlcipherkit_is_damaged(const sqlcipherkit_reader *r) { return r->at > r->end; }

static inline u64 sqlcipherkit_damaged(sqlcipherkit_reader *r) {
    r->at = r->end + 1;
    return 0;
}

/* Passes over a part. Returns its address; NULL after damage. */
static SQLCIPHERKIT_INLINE const u8 *sqlcipherkit_read_part(sqlcipherkit_reader *r, int size) {
    if (size > r->end - r->at) {
        sqlcipherkit_damaged(r);
        return NULL;
    }
    r->at += size;
    return &r->bytes[r->at - size];
}

/* Reads a number of four bytes, as pages have them; 0 after damage. */
static inline u32 sqlcipherkit_read_word(sqlcipherkit_reader *r) {
    const u8 *bytes = sqlcipherkit_read_part(r, 4);
    return bytes == NULL ? 0 : (u32)bytes[0] << 24 | (u32)bytes[1] << 16 | (u32)bytes[2] << 8 | bytes[3];
}

#ifndef SQLCIPHERKIT_PLAIN_SYMBOLS
typedef struct {
    u64 number;
    int at;
} sqlcipherkit_number;

/* Reads a number of several bytes: 7 bits in each of up to eight, and 8 in a ninth. It takes no address and the others are
 * inlined, so that a reader stays in registers: a list of rows has three of these calls for each. */
static SQLCIPHERKIT_OUTLINE sqlcipherkit_number sqlcipherkit_read_long(const u8 *bytes, int at, int end) {
    u64 number = 0;
    for (int i = 0; at < end; i++) {
        const u8 byte = bytes[at++];
        if (i == 8) return (sqlcipherkit_number){number << 8 | byte, at};
        number = number << 7 | (byte & 0x7f);
        if (byte < 0x80) return (sqlcipherkit_number){number, at};
    }
    return (sqlcipherkit_number){0, end + 1};
}

static SQLCIPHERKIT_INLINE u64 sqlcipherkit_read_number(sqlcipherkit_reader *r) {
    if (r->at < r->end && r->bytes[r->at] < 0x80) return r->bytes[r->at++];
    const sqlcipherkit_number read = sqlcipherkit_read_long(r->bytes, r->at, r->end);
    r->at = read.at;
    return read.number;
}

/* Reads a size or a distance. */
static SQLCIPHERKIT_INLINE int sqlcipherkit_read_size(sqlcipherkit_reader *r) {
    const u64 number = sqlcipherkit_read_number(r);
    return (int)(number <= (u64)INT32_MAX ? number : sqlcipherkit_damaged(r));
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
    if (step < 2 || step - 2 > INT32_MAX - (int)(*place & INT32_MAX)) sqlcipherkit_damaged(r);
    *place += step - 2;
    return !sqlcipherkit_is_damaged(r);
}
#endif
