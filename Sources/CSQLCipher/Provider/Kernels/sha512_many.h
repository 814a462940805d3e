/* A template for SHA-512 of several messages at once: word by word, with each message in its own part of the registers.
 *
 * The rounds of one message wait for each other; those of several messages do not. The including file defines MANY, the number of
 * messages in a register, MANY_TARGET, the type many_vector, and these functions of vectors of MANY words: many_load, many_store,
 * many_same (a word in all places), many_add, many_choice, many_majority, many_big_sigma0, many_big_sigma1, many_small_sigma0,
 * many_small_sigma1 (FIPS 180-4, 4.1.3), and many_gather, which takes the 16 words of a block of each message.
 */
#include "sha512.h"

/* Folds `blocks` blocks into MANY states; state[0] points to their first words. */
MANY_TARGET static inline __attribute__((always_inline)) void many_compress(uint64_t *const state[8],
                                                                            const uint8_t *const data[MANY],
                                                                            size_t blocks) {
    many_vector chain[8];
    for (int i = 0; i < 8; i++) {
        chain[i] = many_load(state[i]);
    }
    for (size_t number = 0; number < blocks; number++) {
        many_vector w[16];
        many_gather(w, data, number * sha512_block_size);
        many_vector a = chain[0], b = chain[1], c = chain[2], d = chain[3];
        many_vector e = chain[4], f = chain[5], g = chain[6], h = chain[7];
#pragma clang loop unroll(full)
        for (int t = 0; t < 80; t++) {
            if (t >= 16) {
                many_vector old = many_add(w[t & 15], w[(t - 7) & 15]);
                many_vector mixed = many_add(many_small_sigma0(w[(t - 15) & 15]), many_small_sigma1(w[(t - 2) & 15]));
                w[t & 15] = many_add(old, mixed);
            }
            many_vector constant = many_same(sqlcipherkit_sha512_round_constants[t]);
            many_vector sum = many_add(many_add(h, many_add(w[t & 15], constant)),
                                       many_add(many_choice(e, f, g), many_big_sigma1(e)));
            h = g;
            g = f;
            f = e;
            e = many_add(d, sum);
            many_vector other = many_add(many_majority(a, b, c), many_big_sigma0(a));
            d = c;
            c = b;
            b = a;
            a = many_add(sum, other);
        }
        const many_vector end[8] = {a, b, c, d, e, f, g, h};
        for (int i = 0; i < 8; i++) {
            chain[i] = many_add(chain[i], end[i]);
        }
    }
    for (int i = 0; i < 8; i++) {
        many_store(state[i], chain[i]);
    }
}
