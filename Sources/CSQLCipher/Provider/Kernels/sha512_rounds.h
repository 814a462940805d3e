/* SHA-512's round (FIPS 180-4, 6.4.2) in scalar code, for the kernels that differ only in where the message schedule comes from.
 * Everything here takes constant time: rotations, additions, and no look-up by a secret.
 */
#pragma once

#include "sha512.h"

#include <string.h>

#define SHA512_INLINE static inline __attribute__((always_inline))

/* An optimisation barrier. Without it, the compiler regroups the additions of a round into a chain that starts with the operand
 * that is ready last; the order written below lets the CPU begin early. */
#define SHA512_IN_ORDER(x) __asm__("" : "+r"(x))

SHA512_INLINE uint64_t sha512_rotate(uint64_t x, int n) {
    return x >> n | x << (64 - n);
}

/* The four functions of FIPS 180-4, 4.1.3. */
SHA512_INLINE uint64_t sha512_big_sigma0(uint64_t x) {
    return sha512_rotate(x, 28) ^ sha512_rotate(x, 34) ^ sha512_rotate(x, 39);
}
SHA512_INLINE uint64_t sha512_big_sigma1(uint64_t x) {
    return sha512_rotate(x, 14) ^ sha512_rotate(x, 18) ^ sha512_rotate(x, 41);
}
SHA512_INLINE uint64_t sha512_small_sigma0(uint64_t x) {
    return sha512_rotate(x, 1) ^ sha512_rotate(x, 8) ^ x >> 7;
}
SHA512_INLINE uint64_t sha512_small_sigma1(uint64_t x) {
    return sha512_rotate(x, 19) ^ sha512_rotate(x, 61) ^ x >> 6;
}

/* The working variables a to h of one block. `bc` carries b ^ c from round to round: a's majority with them is
 * (a & (b ^ c)) + (b & c), and this round's a ^ b is the next one's b ^ c. */
#define SHA512_BEGIN(state)                                                                                            \
    uint64_t a = (state)[0], b = (state)[1], c = (state)[2], d = (state)[3];                                           \
    uint64_t e = (state)[4], f = (state)[5], g = (state)[6], h = (state)[7];                                           \
    uint64_t bc = b ^ c

#define SHA512_END(state)                                                                                              \
    do {                                                                                                               \
        (state)[0] += a;                                                                                               \
        (state)[1] += b;                                                                                               \
        (state)[2] += c;                                                                                               \
        (state)[3] += d;                                                                                               \
        (state)[4] += e;                                                                                               \
        (state)[5] += f;                                                                                               \
        (state)[6] += g;                                                                                               \
        (state)[7] += h;                                                                                               \
    } while (0)

/* One round. `wk` is the round's message word plus its constant. The variables do not move: the caller names them one place further
 * each time, so that d and h are what this round replaces.
 *
 * FIPS 180-4 forms T1 = h + Σ1(e) + choice + wk, then e = d + T1 and a = T1 + T2. Here e is summed directly, with Σ1, the operand
 * that is ready last, added last, and a gets T1 back as e - d. That takes two more operations, but makes the chain from each e to
 * the next, and from each a, four operations long instead of five. Rounds wait for that chain: by measurement, they take 7% less
 * time. The order of the statements was measured as well. */
#define SHA512_ROUND(a, b, c, d, e, f, g, h, wk)                                                                       \
    do {                                                                                                               \
        uint64_t next = (h) + (wk);                                                                                    \
        SHA512_IN_ORDER(next);                                                                                         \
        uint64_t rest = (b) & (c);                                                                                     \
        SHA512_IN_ORDER(rest);                                                                                         \
        next += (d);                                                                                                   \
        SHA512_IN_ORDER(next);                                                                                         \
        uint64_t choice = (f) ^ (g);                                                                                   \
        SHA512_IN_ORDER(choice);                                                                                       \
        choice &= (e);                                                                                                 \
        SHA512_IN_ORDER(choice);                                                                                       \
        choice ^= (g);                                                                                                 \
        SHA512_IN_ORDER(choice);                                                                                       \
        next += choice;                                                                                                \
        SHA512_IN_ORDER(next);                                                                                         \
        uint64_t sigma1 = sha512_big_sigma1(e);                                                                        \
        SHA512_IN_ORDER(sigma1);                                                                                       \
        uint64_t majority = (a) & bc;                                                                                  \
        SHA512_IN_ORDER(majority);                                                                                     \
        next += sigma1;                                                                                                \
        SHA512_IN_ORDER(next);                                                                                         \
        bc = (a) ^ (b);                                                                                                \
        SHA512_IN_ORDER(bc);                                                                                           \
        uint64_t sigma0 = sha512_big_sigma0(a);                                                                        \
        SHA512_IN_ORDER(sigma0);                                                                                       \
        rest -= (d);                                                                                                   \
        SHA512_IN_ORDER(rest);                                                                                         \
        rest += majority;                                                                                              \
        SHA512_IN_ORDER(rest);                                                                                         \
        (d) = next;                                                                                                    \
        rest += next;                                                                                                  \
        SHA512_IN_ORDER(rest);                                                                                         \
        (h) = rest + sigma0;                                                                                           \
    } while (0)

/* Eight rounds, after which the variables are in their places again; `WK(i)` is the i-th word plus its constant. */
#define SHA512_8_ROUNDS(WK)                                                                                            \
    do {                                                                                                               \
        SHA512_ROUND(a, b, c, d, e, f, g, h, WK(0));                                                                   \
        SHA512_ROUND(h, a, b, c, d, e, f, g, WK(1));                                                                   \
        SHA512_ROUND(g, h, a, b, c, d, e, f, WK(2));                                                                   \
        SHA512_ROUND(f, g, h, a, b, c, d, e, WK(3));                                                                   \
        SHA512_ROUND(e, f, g, h, a, b, c, d, WK(4));                                                                   \
        SHA512_ROUND(d, e, f, g, h, a, b, c, WK(5));                                                                   \
        SHA512_ROUND(c, d, e, f, g, h, a, b, WK(6));                                                                   \
        SHA512_ROUND(b, c, d, e, f, g, h, a, WK(7));                                                                   \
    } while (0)

/* Folds one block, given as 16 words in the host's byte order, into `state`. `w` is overwritten: it is the window of the
 * message schedule. */
SHA512_INLINE void sha512_fold(uint64_t state[8], uint64_t w[16]) {
    SHA512_BEGIN(state);
    for (int t = 0; t < 80; t += 16) {
        const uint64_t *k = sqlcipherkit_sha512_round_constants + t;
#define SHA512_LOWER(i) (w[i] + k[i])
#define SHA512_UPPER(i) (w[8 + (i)] + k[8 + (i)])
#define SHA512_EXTEND(i)                                                                                               \
    (w[i] += sha512_small_sigma0(w[((i) + 1) & 15]) + w[((i) + 9) & 15] + sha512_small_sigma1(w[((i) + 14) & 15]))
        SHA512_8_ROUNDS(SHA512_LOWER);
        if (t < 64) {
            for (int i = 0; i < 8; i++) {
                SHA512_EXTEND(i);
            }
        }
        SHA512_8_ROUNDS(SHA512_UPPER);
        if (t < 64) {
            for (int i = 8; i < 16; i++) {
                SHA512_EXTEND(i);
            }
        }
#undef SHA512_LOWER
#undef SHA512_UPPER
#undef SHA512_EXTEND
    }
    SHA512_END(state);
}

/* The kernel's compress and iterate in scalar code (sha512.h), inlined into functions with different targets. */
SHA512_INLINE void sha512_fold_run(uint64_t state[8], const uint8_t *block, size_t blocks) {
    for (; blocks > 0; blocks--, block += sha512_block_size) {
        uint64_t w[16];
        sqlcipherkit_sha512_get(w, block);
        sqlcipherkit_sha512_get(w + 8, block + 64);
        sha512_fold(state, w);
    }
}

/* One compression of a 64-byte digest that follows a pad: its words, a one bit, zeros, and the length of pad and digest,
 * 1,536 bits. `out` may be `digest`. */
SHA512_INLINE void sha512_fold_digest(const uint64_t start[8], const uint64_t digest[8], uint64_t out[8]) {
    uint64_t w[16] = {0};
    memcpy(w, digest, sha512_digest_size);
    w[8] = 0x8000000000000000ULL;
    w[15] = 1536;
    memcpy(out, start, sha512_digest_size);
    sha512_fold(out, w);
}

SHA512_INLINE void sha512_iterate(const uint64_t inner[8], const uint64_t outer[8], uint64_t u[8], uint64_t sum[8],
                                  uint32_t rounds) {
    while (rounds-- > 0) {
        sha512_fold_digest(inner, u, u);
        sha512_fold_digest(outer, u, u);
        for (size_t i = 0; i < 8; i++) {
            sum[i] ^= u[i];
        }
    }
}
