/* Shared by the AVX2 files: their target, and the message words of two blocks in a register (for sha512_lanes.h). */
#pragma once

#include "aes.h"
#include "sha512.h"

#include <immintrin.h>

#define AVX2 __attribute__((target("bmi,bmi2,avx2,aes")))
#define AVX2_INLINE AVX2 static inline __attribute__((always_inline))

#define LANES 2
#define LANES_TARGET AVX2
typedef __m256i lanes_vector;

AVX2_INLINE __m256i lanes_gather(const uint8_t *const block[LANES], int pair) {
    const size_t at = 16 * (size_t)pair;
    const __m128i byte_order = _mm_set_epi8(8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
    __m256i words = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)(block[0] + at)));
    words = _mm256_inserti128_si256(words, _mm_loadu_si128((const __m128i *)(const void *)(block[1] + at)), 1);
    return _mm256_shuffle_epi8(words, _mm256_broadcastsi128_si256(byte_order));
}

/* Rotations as in sha512_avx2_many.c. */
AVX2_INLINE __m256i lanes_next(__m256i x0, __m256i x1, __m256i x4, __m256i x5, __m256i x7) {
    const __m256i right_by_8 = _mm256_broadcastsi128_si256(
        _mm_set_epi8(8, 15, 14, 13, 12, 11, 10, 9, 0, 7, 6, 5, 4, 3, 2, 1));
    __m256i fifteen_back = _mm256_alignr_epi8(x1, x0, 8);
    __m256i seven_back = _mm256_alignr_epi8(x5, x4, 8);
    __m256i sigma0 = _mm256_xor_si256(
        _mm256_xor_si256(_mm256_srli_epi64(fifteen_back, 1), _mm256_slli_epi64(fifteen_back, 63)),
        _mm256_xor_si256(_mm256_shuffle_epi8(fifteen_back, right_by_8), _mm256_srli_epi64(fifteen_back, 7)));
    __m256i sigma1 = _mm256_xor_si256(
        _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(x7, 19), _mm256_slli_epi64(x7, 45)),
                         _mm256_xor_si256(_mm256_srli_epi64(x7, 61), _mm256_slli_epi64(x7, 3))),
        _mm256_srli_epi64(x7, 6));
    return _mm256_add_epi64(_mm256_add_epi64(x0, seven_back), _mm256_add_epi64(sigma0, sigma1));
}

AVX2_INLINE void lanes_store(uint64_t *to, __m256i words, const uint64_t *constants) {
    __m256i both = _mm256_broadcastsi128_si256(_mm_load_si128((const __m128i *)(const void *)constants));
    _mm256_store_si256((__m256i *)(void *)to, _mm256_add_epi64(words, both));
}

#include "sha512_lanes.h"
