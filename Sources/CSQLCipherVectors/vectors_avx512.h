/* The kernels with AVX-512 (F, BW, DQ, VL). The file that includes this says in AVX512_SETS what the compiler may use, in NAME and
 * SYMBOL what the set is called, and in MULTIPLY_ADD how sums of products of 16-bit numbers are added to 32-bit ones. */
#if defined(__x86_64__)

#include "kernels.h"

#include <immintrin.h>
#include <string.h>

#define AVX512 __attribute__((target(AVX512_SETS)))
#define AVX512_INLINE AVX512 static inline __attribute__((always_inline))

/* The first `count` of 16, 32 or more lanes. Lanes that are left out are zero, and their memory is not read. */
AVX512_INLINE uint32_t first(size_t count) {
    return count >= 32 ? UINT32_MAX : ((uint32_t)1 << count) - 1;
}

AVX512_INLINE __m512 more(__m512 sum, __m512 a, __m512 b, int is_l2) {
    const __m512 apart = _mm512_sub_ps(a, b);
    return is_l2 ? _mm512_fmadd_ps(apart, apart, sum) : _mm512_fmadd_ps(a, b, sum);
}

AVX512_INLINE void floats(const float *query, const void *vectors, size_t count, size_t dimensions, float *sums, int is_l2) {
    const uint8_t *row = vectors;
    for (size_t i = 0; i < count; i++, row += sizeof(float) * dimensions) {
        /* Four sums, as the next addition to one has to wait for the last. */
        __m512 sum[4] = {_mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps()};
        size_t j = 0;
        for (; j + 64 <= dimensions; j += 64) {
            for (size_t k = 0; k < 4; k++) {
                const void *v = row + sizeof(float) * (j + 16 * k);
                sum[k] = more(sum[k], _mm512_loadu_ps(query + j + 16 * k), _mm512_loadu_ps(v), is_l2);
            }
        }
        for (size_t k = 0; j < dimensions; j += 16, k++) {
            const __mmask16 some = (__mmask16)first(dimensions - j < 16 ? dimensions - j : 16);
            const void *v = row + sizeof(float) * j;
            sum[k] = more(sum[k], _mm512_maskz_loadu_ps(some, query + j), _mm512_maskz_loadu_ps(some, v), is_l2);
        }
        sums[i] = _mm512_reduce_add_ps(_mm512_add_ps(_mm512_add_ps(sum[0], sum[1]), _mm512_add_ps(sum[2], sum[3])));
    }
}

AVX512 static void dot_f32(const float *query, const void *vectors, size_t count, size_t dimensions, float *sums) {
    floats(query, vectors, count, dimensions, sums, 0);
}

AVX512 static void l2_f32(const float *query, const void *vectors, size_t count, size_t dimensions, float *sums) {
    floats(query, vectors, count, dimensions, sums, 1);
}

AVX512 static void dot_i8(const int16_t *query, const void *vectors, size_t count, size_t dimensions, int32_t *sums) {
    const int8_t *row = vectors;
    for (size_t i = 0; i < count; i++, row += dimensions) {
        __m512i sum[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
        size_t j = 0;
        for (; j + 64 <= dimensions; j += 64) {
            for (size_t k = 0; k < 2; k++) {
                const void *v = row + j + 32 * k;
                const __m512i wide = _mm512_cvtepi8_epi16(_mm256_loadu_si256(v));
                sum[k] = MULTIPLY_ADD(sum[k], _mm512_loadu_si512(query + j + 32 * k), wide);
            }
        }
        for (size_t k = 0; j < dimensions; j += 32, k++) {
            const __mmask32 some = first(dimensions - j);
            const __m512i wide = _mm512_cvtepi8_epi16(_mm256_maskz_loadu_epi8(some, row + j));
            sum[k] = MULTIPLY_ADD(sum[k], _mm512_maskz_loadu_epi16(some, query + j), wide);
        }
        sums[i] = _mm512_reduce_add_epi32(_mm512_add_epi32(sum[0], sum[1]));
    }
}

static void hamming(const uint8_t *query, const void *vectors, size_t count, size_t bytes, uint32_t *sums) {
    sqlcipherkit_vectors_avx2.hamming(query, vectors, count, bytes, sums);
}

const struct sqlcipherkit_vector_kernels SYMBOL = {NAME, dot_f32, l2_f32, dot_i8, hamming};

#endif
