/* The kernels with AVX2, FMA and POPCNT. */
#if defined(__x86_64__)

#include "kernels.h"

#include <immintrin.h>
#include <string.h>

#define AVX2 __attribute__((target("avx2,fma,popcnt")))
#define AVX2_INLINE AVX2 static inline __attribute__((always_inline))

AVX2_INLINE __m256 load(const void *from) {
    return _mm256_loadu_ps(from);
}

AVX2_INLINE float total(__m256 x) {
    __m128 half = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    half = _mm_add_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_add_ss(half, _mm_shuffle_ps(half, half, 1)));
}

/* The rest of a vector whose length is no multiple of eight, with zeros after it: nothing after the vector is read. */
AVX2_INLINE __m256 load_rest(const void *from, size_t count) {
    float some[8] = {0};
    memcpy(some, from, count * sizeof *some);
    return load(some);
}

AVX2_INLINE __m256 more(__m256 sum, __m256 a, __m256 b, int is_l2) {
    const __m256 apart = _mm256_sub_ps(a, b);
    return is_l2 ? _mm256_fmadd_ps(apart, apart, sum) : _mm256_fmadd_ps(a, b, sum);
}

AVX2_INLINE void floats(const float *query, const void *vectors, size_t count, size_t dimensions, float *sums, int is_l2) {
    const uint8_t *row = vectors;
    for (size_t i = 0; i < count; i++, row += sizeof(float) * dimensions) {
        /* Four sums, as the next addition to one has to wait for the last. */
        __m256 sum[4] = {_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps()};
        size_t j = 0;
        for (; j + 32 <= dimensions; j += 32) {
            for (size_t k = 0; k < 4; k++) {
                sum[k] = more(sum[k], load(query + j + 8 * k), load(row + sizeof(float) * (j + 8 * k)), is_l2);
            }
        }
        for (; j + 8 <= dimensions; j += 8) {
            sum[0] = more(sum[0], load(query + j), load(row + sizeof(float) * j), is_l2);
        }
        if (j < dimensions) {
            const size_t rest = dimensions - j;
            sum[1] = more(sum[1], load_rest(query + j, rest), load_rest(row + sizeof(float) * j, rest), is_l2);
        }
        sums[i] = total(_mm256_add_ps(_mm256_add_ps(sum[0], sum[1]), _mm256_add_ps(sum[2], sum[3])));
    }
}

AVX2 static void dot_f32(const float *query, const void *vectors, size_t count, size_t dimensions, float *sums) {
    floats(query, vectors, count, dimensions, sums, 0);
}

AVX2 static void l2_f32(const float *query, const void *vectors, size_t count, size_t dimensions, float *sums) {
    floats(query, vectors, count, dimensions, sums, 1);
}

AVX2 static void dot_i8(const int16_t *query, const void *vectors, size_t count, size_t dimensions, int32_t *sums) {
    const int8_t *row = vectors;
    for (size_t i = 0; i < count; i++, row += dimensions) {
        __m256i sum[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
        size_t j = 0;
        for (; j + 32 <= dimensions; j += 32) {
            for (size_t k = 0; k < 2; k++) {
                const void *q = query + j + 16 * k, *v = row + j + 16 * k;
                const __m256i wide = _mm256_cvtepi8_epi16(_mm_loadu_si128(v));
                sum[k] = _mm256_add_epi32(sum[k], _mm256_madd_epi16(_mm256_loadu_si256(q), wide));
            }
        }
        const __m256i both = _mm256_add_epi32(sum[0], sum[1]);
        __m128i half = _mm_add_epi32(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
        half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0x4e));
        half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0xb1));
        int32_t rest = 0;
        for (; j < dimensions; j++) {
            rest += query[j] * row[j];
        }
        sums[i] = _mm_cvtsi128_si32(half) + rest;
    }
}

/* POPCNT counts eight bytes in each cycle: for the few words of a vector no vector instructions are faster. */
AVX2 static void hamming(const uint8_t *query, const void *vectors, size_t count, size_t bytes, uint32_t *sums) {
    const uint8_t *row = vectors;
    for (size_t i = 0; i < count; i++, row += bytes) {
        uint64_t sum = 0, a, b;
        size_t j = 0;
        for (; j + 8 <= bytes; j += 8) {
            memcpy(&a, query + j, sizeof a);
            memcpy(&b, row + j, sizeof b);
            sum += (uint64_t)_mm_popcnt_u64(a ^ b);
        }
        if (j < bytes) {
            a = b = 0;
            memcpy(&a, query + j, bytes - j);
            memcpy(&b, row + j, bytes - j);
            sum += (uint64_t)_mm_popcnt_u64(a ^ b);
        }
        sums[i] = (uint32_t)sum;
    }
}

const struct sqlcipherkit_vector_kernels sqlcipherkit_vectors_avx2 = {"AVX2", dot_f32, l2_f32, dot_i8, hamming};

#endif
