/* The message words of four blocks in one register, for sha512_lanes.h: AVX-512 rotates, and combines three operands, in
 * single instructions. */
#pragma once

#include "sha512_avx512.h"

#define LANES 4
#define LANES_TARGET AVX512
typedef __m512i lanes_vector;

AVX512_INLINE __m512i lanes_gather(const uint8_t *const block[LANES], int pair) {
    const size_t at = 16 * (size_t)pair;
    __m512i words = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(const void *)(block[0] + at)));
    words = _mm512_inserti32x4(words, _mm_loadu_si128((const __m128i *)(const void *)(block[1] + at)), 1);
    words = _mm512_inserti32x4(words, _mm_loadu_si128((const __m128i *)(const void *)(block[2] + at)), 2);
    words = _mm512_inserti32x4(words, _mm_loadu_si128((const __m128i *)(const void *)(block[3] + at)), 3);
    return _mm512_shuffle_epi8(words, _mm512_broadcast_i32x4(avx512_byte_order()));
}

/* 0x96 is the truth table of the exclusive or of three. */
AVX512_INLINE __m512i lanes_next(__m512i x0, __m512i x1, __m512i x4, __m512i x5, __m512i x7) {
    __m512i fifteen_back = _mm512_alignr_epi8(x1, x0, 8);
    __m512i seven_back = _mm512_alignr_epi8(x5, x4, 8);
    __m512i sigma0 = _mm512_ternarylogic_epi64(_mm512_ror_epi64(fifteen_back, 1), _mm512_ror_epi64(fifteen_back, 8),
                                               _mm512_srli_epi64(fifteen_back, 7), 0x96);
    __m512i sigma1 = _mm512_ternarylogic_epi64(_mm512_ror_epi64(x7, 19), _mm512_ror_epi64(x7, 61),
                                               _mm512_srli_epi64(x7, 6), 0x96);
    return _mm512_add_epi64(_mm512_add_epi64(x0, seven_back), _mm512_add_epi64(sigma0, sigma1));
}

AVX512_INLINE void lanes_store(uint64_t *to, __m512i words, const uint64_t *constants) {
    __m512i both = _mm512_broadcast_i32x4(_mm_load_si128((const __m128i *)(const void *)constants));
    _mm512_store_si512(to, _mm512_add_epi64(words, both));
}

#include "sha512_lanes.h"
