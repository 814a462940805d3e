/* SHA-512 of eight messages with AVX2: twice four at once. */
#if defined(__x86_64__)

#include "sha512_avx2.h"

#define MANY 4
#define MANY_TARGET AVX2
typedef __m256i many_vector;

AVX2_INLINE __m256i many_load(const uint64_t *words) {
    return _mm256_loadu_si256((const __m256i *)(const void *)words);
}
AVX2_INLINE void many_store(uint64_t *words, __m256i x) {
    _mm256_storeu_si256((__m256i *)(void *)words, x);
}
AVX2_INLINE __m256i many_same(uint64_t word) {
    return _mm256_set1_epi64x((long long)word);
}
AVX2_INLINE __m256i many_add(__m256i x, __m256i y) {
    return _mm256_add_epi64(x, y);
}
AVX2_INLINE __m256i many_choice(__m256i x, __m256i y, __m256i z) {
    return _mm256_xor_si256(z, _mm256_and_si256(x, _mm256_xor_si256(y, z)));
}
AVX2_INLINE __m256i many_majority(__m256i x, __m256i y, __m256i z) {
    return _mm256_xor_si256(y, _mm256_and_si256(_mm256_xor_si256(x, y), _mm256_xor_si256(y, z)));
}

/* AVX2 has no rotation: use two shifts, or a shuffle if whole bytes move. */
#define ROTATED(x, n) _mm256_xor_si256(_mm256_srli_epi64(x, n), _mm256_slli_epi64(x, 64 - (n)))

AVX2_INLINE __m256i three(__m256i x, __m256i y, __m256i z) {
    return _mm256_xor_si256(_mm256_xor_si256(x, y), z);
}
AVX2_INLINE __m256i many_big_sigma0(__m256i x) {
    return three(ROTATED(x, 28), ROTATED(x, 34), ROTATED(x, 39));
}
AVX2_INLINE __m256i many_big_sigma1(__m256i x) {
    return three(ROTATED(x, 14), ROTATED(x, 18), ROTATED(x, 41));
}
AVX2_INLINE __m256i many_small_sigma0(__m256i x) {
    const __m256i right_by_8 = _mm256_broadcastsi128_si256(
        _mm_set_epi8(8, 15, 14, 13, 12, 11, 10, 9, 0, 7, 6, 5, 4, 3, 2, 1));
    return three(ROTATED(x, 1), _mm256_shuffle_epi8(x, right_by_8), _mm256_srli_epi64(x, 7));
}
AVX2_INLINE __m256i many_small_sigma1(__m256i x) {
    return three(ROTATED(x, 19), ROTATED(x, 61), _mm256_srli_epi64(x, 6));
}

/* From a row for each message to a row for each word, four words at a time. */
AVX2_INLINE void many_gather(__m256i words[16], const uint8_t *const block[MANY], size_t at) {
    const __m256i byte_order = _mm256_broadcastsi128_si256(
        _mm_set_epi8(8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
    for (int quad = 0; quad < 16; quad += 4) {
        __m256i row[MANY];
        for (int i = 0; i < MANY; i++) {
            const void *from = block[i] + at + 8 * quad;
            row[i] = _mm256_shuffle_epi8(_mm256_loadu_si256((const __m256i *)from), byte_order);
        }
        const __m256i even01 = _mm256_unpacklo_epi64(row[0], row[1]);
        const __m256i odd01 = _mm256_unpackhi_epi64(row[0], row[1]);
        const __m256i even23 = _mm256_unpacklo_epi64(row[2], row[3]);
        const __m256i odd23 = _mm256_unpackhi_epi64(row[2], row[3]);
        words[quad] = _mm256_permute2x128_si256(even01, even23, 0x20);
        words[quad + 1] = _mm256_permute2x128_si256(odd01, odd23, 0x20);
        words[quad + 2] = _mm256_permute2x128_si256(even01, even23, 0x31);
        words[quad + 3] = _mm256_permute2x128_si256(odd01, odd23, 0x31);
    }
}

#include "sha512_many.h"

AVX2 void sqlcipherkit_sha512_avx2_many(uint64_t state[8][sha512_many], const uint8_t *const data[sha512_many],
                                        size_t blocks, size_t count) {
    for (size_t first = 0; first < count; first += MANY) {
        uint64_t *words[8];
        for (int i = 0; i < 8; i++) {
            words[i] = state[i] + first;
        }
        many_compress(words, data + first, blocks);
    }
}

#endif
