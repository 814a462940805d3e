/* SHA-512 of a lone block, and PBKDF2's loop, which consists of lone blocks, with AVX-512. There is only one block to schedule: its
 * words are computed two at a time in 16-byte registers, sixteen rounds ahead of the scalar rounds that use them. */
#if defined(__x86_64__)

#include "sha512_avx512.h"
#include "sha512_rounds.h"

AVX512_INLINE __m128i next_pair(__m128i x0, __m128i x1, __m128i x4, __m128i x5, __m128i x7) {
    __m128i fifteen_back = _mm_alignr_epi8(x1, x0, 8);
    __m128i seven_back = _mm_alignr_epi8(x5, x4, 8);
    __m128i sigma0 = _mm_ternarylogic_epi64(_mm_ror_epi64(fifteen_back, 1), _mm_ror_epi64(fifteen_back, 8),
                                            _mm_srli_epi64(fifteen_back, 7), 0x96);
    __m128i sigma1 = _mm_ternarylogic_epi64(_mm_ror_epi64(x7, 19), _mm_ror_epi64(x7, 61), _mm_srli_epi64(x7, 6), 0x96);
    return _mm_add_epi64(_mm_add_epi64(x0, seven_back), _mm_add_epi64(sigma0, sigma1));
}

AVX512_INLINE void store_with_constants(uint64_t *to, __m128i words, const uint64_t *constants) {
    __m128i both = _mm_load_si128((const __m128i *)(const void *)constants);
    _mm_store_si128((__m128i *)(void *)to, _mm_add_epi64(words, both));
    /* Makes the compiler believe that the table is read elsewhere. Otherwise it would extract the words from the vector register
     * one by one, which is slower than going through memory. */
    __asm__ volatile("" : : "r"(to) : "memory");
}

/* Two rounds, then the pair of words that these two places of the table hold sixteen rounds later. */
#define PAIR(a, b, c, d, e, f, g, h, i)                                                                                \
    SHA512_ROUND(a, b, c, d, e, f, g, h, table[2 * (i)]);                                                              \
    SHA512_ROUND(h, a, b, c, d, e, f, g, table[2 * (i) + 1]);                                                          \
    if (t < 64) {                                                                                                      \
        window[i] = next_pair(window[i], window[((i) + 1) & 7], window[((i) + 4) & 7], window[((i) + 5) & 7],          \
                              window[((i) + 7) & 7]);                                                                  \
        store_with_constants(table + 2 * (i), window[i], constants + 16 + 2 * (i));                                    \
    }

/* One compression: the block whose words are in `window`, two to a register, folded into `start`. `table` has the first
 * sixteen words plus their constants, and is overwritten. It fills two whole cache lines: when it was spread over three, the loop
 * was measured to take twice as long. `out` may be `start`. */
AVX512_INLINE void fold(const uint64_t start[8], __m128i window[8], uint64_t table[16], uint64_t out[8]) {
    SHA512_BEGIN(start);
#pragma clang loop unroll(full)
    for (int t = 0; t < 80; t += 16) {
        const uint64_t *constants = sqlcipherkit_sha512_round_constants + t;
        PAIR(a, b, c, d, e, f, g, h, 0)
        PAIR(g, h, a, b, c, d, e, f, 1)
        PAIR(e, f, g, h, a, b, c, d, 2)
        PAIR(c, d, e, f, g, h, a, b, 3)
        PAIR(a, b, c, d, e, f, g, h, 4)
        PAIR(g, h, a, b, c, d, e, f, 5)
        PAIR(e, f, g, h, a, b, c, d, 6)
        PAIR(c, d, e, f, g, h, a, b, 7)
    }
    memmove(out, start, sha512_digest_size);
    SHA512_END(out);
}

/* As sha512_fold_digest in sha512_rounds.h. */
AVX512_INLINE void fold_digest(const uint64_t start[8], const uint64_t digest[8], uint64_t out[8]) {
    __attribute__((aligned(64))) uint64_t table[16];
    __m128i window[8];
    /* Loaded word by word, as the compression before this one has just stored them: a load of two words waits until both are in the
     * cache. The rounds must not wait for that, but the schedule, which comes sixteen rounds later, may. */
    for (int i = 0; i < 8; i++) {
        uint64_t word = digest[i] + sqlcipherkit_sha512_round_constants[i];
        SHA512_IN_ORDER(word);
        table[i] = word;
    }
    for (int i = 0; i < 4; i++) {
        window[i] = _mm_loadu_si128((const __m128i *)(const void *)(digest + 2 * i));
    }
    window[4] = _mm_set_epi64x(0, (long long)0x8000000000000000ULL);
    window[5] = _mm_setzero_si128();
    window[6] = _mm_setzero_si128();
    window[7] = _mm_set_epi64x(1536, 0);
    for (int i = 4; i < 8; i++) {
        store_with_constants(table + 2 * i, window[i], sqlcipherkit_sha512_round_constants + 2 * i);
    }
    fold(start, window, table, out);
}

AVX512 void sqlcipherkit_sha512_avx512_lone(uint64_t state[8], const uint8_t *block) {
    __attribute__((aligned(64))) uint64_t table[16];
    __m128i window[8];
    for (int i = 0; i < 8; i++) {
        window[i] = _mm_loadu_si128((const __m128i *)(const void *)(block + 16 * i));
        window[i] = _mm_shuffle_epi8(window[i], avx512_byte_order());
        store_with_constants(table + 2 * i, window[i], sqlcipherkit_sha512_round_constants + 2 * i);
    }
    fold(state, window, table, state);
}

AVX512 void sqlcipherkit_sha512_avx512_iterate(const uint64_t inner[8], const uint64_t outer[8], uint64_t u[8],
                                               uint64_t sum[8], uint32_t rounds) {
    while (rounds-- > 0) {
        fold_digest(inner, u, u);
        fold_digest(outer, u, u);
        for (size_t i = 0; i < 8; i++) {
            sum[i] ^= u[i];
        }
    }
}

#endif
