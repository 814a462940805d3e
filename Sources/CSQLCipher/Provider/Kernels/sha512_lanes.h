/* SHA-512 of one message whose schedule is computed in vector registers, several blocks of the message at a time, in parallel with
 * the scalar rounds of the blocks before.
 *
 * A block's rounds form one chain and leave most of the CPU idle. The message schedule (FIPS 180-4, 6.4.2, step 1) depends only on
 * the message, not on that chain. So while the rounds of one group of blocks run in the scalar unit, the words of the next group
 * are computed in the vector unit, one block in each 128-bit lane, and stored in a table. Encryption in CBC mode, which is also a
 * chain, can be stitched in the same way, two groups ahead (sha512_lanes_encrypt.h).
 *
 * A template: the file that includes it defines LANES (2 or 4), LANES_TARGET (a target attribute) and
 *   lanes_vector                        a vector of LANES × 128 bits
 *   lanes_gather(const uint8_t *const block[LANES], int pair)
 *                                       words 2·pair and 2·pair + 1 of each block, in the host's byte order
 *   lanes_next(x0, x1, x4, x5, x7)      the next pair of words from the eight pairs before it
 *   lanes_store(uint64_t *to, lanes_vector words, const uint64_t *constants)
 *                                       words plus the pair's two round constants, to an aligned place
 */
#include "sha512.h"
#include "sha512_rounds.h"

/* The table: for each of the 40 pairs of rounds, LANES × 2 words. */
enum {
    lanes_pair_words = 2 * LANES,
    lanes_table_words = 40 * lanes_pair_words,
    lanes_steps = 32 / LANES, /* pairs of the next group computed during the rounds of one block */
};

/* An empty statement that keeps instructions in their place. Otherwise the compiler would collect all vector work at one end of the
 * rounds, where nothing runs in parallel. */
#define LANES_STAY_HERE __asm__ volatile("" : : : "memory")

/* A message whose blocks are in two places, numbered consecutively. */
struct lanes_message {
    const uint8_t *data;
    size_t blocks;
    const uint8_t *tail;
    size_t total;
};

/* Finds the blocks of the group that begins with number `at`. A place past the end gets the last block, whose words are computed
 * like the others' but not used. */
LANES_TARGET SHA512_INLINE void lanes_locate(const struct lanes_message *message, size_t at,
                                             const uint8_t *block[LANES]) {
    for (size_t i = 0; i < LANES; i++) {
        size_t number = at + i < message->total ? at + i : message->total - 1;
        block[i] = number < message->blocks ? message->data + number * sha512_block_size
                                            : message->tail + (number - message->blocks) * sha512_block_size;
    }
}

/* The first 16 words of a group's blocks, which are the message itself. */
LANES_TARGET SHA512_INLINE void lanes_begin(lanes_vector window[8], const uint8_t *const block[LANES],
                                            uint64_t *table) {
    for (int i = 0; i < 8; i++) {
        window[i] = lanes_gather(block, i);
        lanes_store(table + i * lanes_pair_words, window[i], sqlcipherkit_sha512_round_constants + 2 * i);
    }
}

/* Computes one more pair of each block in the group, the `step`-th since `table` and `constants`. `step` is a literal, so that the
 * window's places are registers. */
#define LANES_STEP(step, table, constants)                                                                             \
    do {                                                                                                               \
        window[(step) & 7] = lanes_next(window[(step) & 7], window[((step) + 1) & 7], window[((step) + 4) & 7],        \
                                        window[((step) + 5) & 7], window[((step) + 7) & 7]);                           \
        lanes_store((table) + (step) * lanes_pair_words, window[(step) & 7], (constants) + 2 * (step));                \
        LANES_STAY_HERE;                                                                                               \
    } while (0)

/* The words of a group without rounds to run in parallel: the first of a message. */
LANES_TARGET SHA512_INLINE void lanes_schedule(const uint8_t *const block[LANES], uint64_t *table) {
    lanes_vector window[8];
    lanes_begin(window, block, table);
    for (int i = 8; i < 40; i += 8) {
        uint64_t *to = table + i * lanes_pair_words;
        const uint64_t *constants = sqlcipherkit_sha512_round_constants + 2 * i;
        LANES_STEP(0, to, constants);
        LANES_STEP(1, to, constants);
        LANES_STEP(2, to, constants);
        LANES_STEP(3, to, constants);
        LANES_STEP(4, to, constants);
        LANES_STEP(5, to, constants);
        LANES_STEP(6, to, constants);
        LANES_STEP(7, to, constants);
    }
}

/* Two rounds, and the work that follows them: `AFTER(n)` for the n-th pair, 0 to 39. */
#define LANES_PAIR(a, b, c, d, e, f, g, h, n, AFTER)                                                                   \
    SHA512_ROUND(a, b, c, d, e, f, g, h, words[(n) * lanes_pair_words]);                                               \
    SHA512_ROUND(h, a, b, c, d, e, f, g, words[(n) * lanes_pair_words + 1]);                                           \
    AFTER(n)

#define LANES_8_ROUNDS(n, AFTER)                                                                                       \
    LANES_PAIR(a, b, c, d, e, f, g, h, (n), AFTER)                                                                     \
    LANES_PAIR(g, h, a, b, c, d, e, f, (n) + 1, AFTER)                                                                 \
    LANES_PAIR(e, f, g, h, a, b, c, d, (n) + 2, AFTER)                                                                 \
    LANES_PAIR(c, d, e, f, g, h, a, b, (n) + 3, AFTER)

#define LANES_80_ROUNDS(AFTER)                                                                                         \
    LANES_8_ROUNDS(0, AFTER)                                                                                           \
    LANES_8_ROUNDS(4, AFTER)                                                                                           \
    LANES_8_ROUNDS(8, AFTER)                                                                                           \
    LANES_8_ROUNDS(12, AFTER)                                                                                          \
    LANES_8_ROUNDS(16, AFTER)                                                                                          \
    LANES_8_ROUNDS(20, AFTER)                                                                                          \
    LANES_8_ROUNDS(24, AFTER)                                                                                          \
    LANES_8_ROUNDS(28, AFTER)                                                                                          \
    LANES_8_ROUNDS(32, AFTER)                                                                                          \
    LANES_8_ROUNDS(36, AFTER)

/* Spread over the first 32 of the 40 pairs, so that the last words are stored well before they are read. */
#define LANES_IS_STEP(n) ((n) < 32 && (n) % LANES == LANES - 1)
#define LANES_NOTHING(n)
#define LANES_AHEAD(n)                                                                                                 \
    if (LANES_IS_STEP(n)) {                                                                                            \
        LANES_STEP((n) / LANES, ahead, constants);                                                                     \
    }

/* The rounds of one block whose words are already in a table; `words` is the block's lane in it. */
LANES_TARGET SHA512_INLINE void lanes_rounds(uint64_t state[8], const uint64_t *words) {
    SHA512_BEGIN(state);
    LANES_80_ROUNDS(LANES_NOTHING)
    SHA512_END(state);
}

/* The rounds of every group except the last, each in parallel with the schedule of the next group, and with any other work in
 * `AFTER`. The variables are those of lanes_compress. */
#define LANES_GROUPS(message, AFTER)                                                                                   \
    for (; (message)->total - at > LANES; at += LANES) {                                                               \
        lanes_vector window[8];                                                                                        \
        lanes_locate((message), at + LANES, block);                                                                    \
        lanes_begin(window, block, next);                                                                              \
        for (int lane = 0; lane < LANES; lane++) {                                                                     \
            const uint64_t *words = now + 2 * lane;                                                                    \
            int done = 8 + lane * lanes_steps;                                                                         \
            uint64_t *ahead = next + done * lanes_pair_words;                                                          \
            const uint64_t *constants = sqlcipherkit_sha512_round_constants + 2 * done;                                \
            SHA512_BEGIN(state);                                                                                       \
            LANES_80_ROUNDS(AFTER)                                                                                     \
            SHA512_END(state);                                                                                         \
        }                                                                                                              \
        uint64_t *swap = now;                                                                                          \
        now = next;                                                                                                    \
        next = swap;                                                                                                   \
    }

/* Folds all blocks of `message`, at least one, into `result`. The state in between is a copy that nothing else can see, which saves
 * loads and stores around every block. */
LANES_TARGET SHA512_INLINE void lanes_compress(uint64_t result[8], const struct lanes_message *message) {
    __attribute__((aligned(64))) uint64_t tables[2][lanes_table_words];
    uint64_t *now = tables[0];
    uint64_t *next = tables[1];
    const uint8_t *block[LANES];
    uint64_t state[8];
    size_t at = 0;
    memcpy(state, result, sizeof state);
    lanes_locate(message, 0, block);
    lanes_schedule(block, now);
    LANES_GROUPS(message, LANES_AHEAD)
    for (size_t lane = 0; at < message->total; at++, lane++) {
        lanes_rounds(state, now + 2 * lane);
    }
    memcpy(result, state, sizeof state);
}
