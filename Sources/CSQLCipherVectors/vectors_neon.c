/* The kernels with NEON. */
#if defined(__aarch64__)

#include "kernels.h"

#include <arm_neon.h>
#include <string.h>

/* The numbers of a chunk may be at any address, so they are loaded as bytes. */
static inline float32x4_t load(const void *from) {
    return vreinterpretq_f32_u8(vld1q_u8(from));
}

/* The rest of a vector whose length is no multiple of four, with zeros after it: nothing after the vector is read. */
static inline float32x4_t load_rest(const void *from, size_t count) {
    float some[4] = {0};
    memcpy(some, from, count * sizeof *some);
    return vld1q_f32(some);
}

static inline float32x4_t more(float32x4_t sum, float32x4_t a, float32x4_t b, int is_l2) {
    const float32x4_t apart = vsubq_f32(a, b);
    return is_l2 ? vfmaq_f32(sum, apart, apart) : vfmaq_f32(sum, a, b);
}

static inline void floats(const float *query, const void *vectors, size_t count, size_t dimensions, float *sums, int is_l2) {
    const uint8_t *row = vectors;
    for (size_t i = 0; i < count; i++, row += sizeof(float) * dimensions) {
        /* Four sums, as the next addition to one has to wait for the last. */
        float32x4_t sum[4] = {vdupq_n_f32(0), vdupq_n_f32(0), vdupq_n_f32(0), vdupq_n_f32(0)};
        size_t j = 0;
        for (; j + 16 <= dimensions; j += 16) {
            for (size_t k = 0; k < 4; k++) {
                sum[k] = more(sum[k], load(query + j + 4 * k), load(row + sizeof(float) * (j + 4 * k)), is_l2);
            }
        }
        for (; j + 4 <= dimensions; j += 4) {
            sum[0] = more(sum[0], load(query + j), load(row + sizeof(float) * j), is_l2);
        }
        if (j < dimensions) {
            const size_t rest = dimensions - j;
            sum[1] = more(sum[1], load_rest(query + j, rest), load_rest(row + sizeof(float) * j, rest), is_l2);
        }
        sums[i] = vaddvq_f32(vaddq_f32(vaddq_f32(sum[0], sum[1]), vaddq_f32(sum[2], sum[3])));
    }
}

static void dot_f32(const float *query, const void *vectors, size_t count, size_t dimensions, float *sums) {
    floats(query, vectors, count, dimensions, sums, 0);
}

static void l2_f32(const float *query, const void *vectors, size_t count, size_t dimensions, float *sums) {
    floats(query, vectors, count, dimensions, sums, 1);
}

static void dot_i8(const int16_t *query, const void *vectors, size_t count, size_t dimensions, int32_t *sums) {
    const int8_t *row = vectors;
    for (size_t i = 0; i < count; i++, row += dimensions) {
        int32x4_t low = vdupq_n_s32(0), high = vdupq_n_s32(0);
        size_t j = 0;
        for (; j + 8 <= dimensions; j += 8) {
            const int16x8_t wide = vmovl_s8(vld1_s8(row + j)), q = vld1q_s16(query + j);
            low = vmlal_s16(low, vget_low_s16(q), vget_low_s16(wide));
            high = vmlal_high_s16(high, q, wide);
        }
        int32_t rest = 0;
        for (; j < dimensions; j++) {
            rest += query[j] * row[j];
        }
        sums[i] = vaddvq_s32(vaddq_s32(low, high)) + rest;
    }
}

static void hamming(const uint8_t *query, const void *vectors, size_t count, size_t bytes, uint32_t *sums) {
    const uint8_t *row = vectors;
    for (size_t i = 0; i < count; i++, row += bytes) {
        uint32x4_t sum = vdupq_n_u32(0);
        size_t j = 0;
        for (; j + 16 <= bytes; j += 16) {
            const uint8x16_t differing = veorq_u8(vld1q_u8(query + j), vld1q_u8(row + j));
            sum = vpadalq_u16(sum, vpaddlq_u8(vcntq_u8(differing)));
        }
        uint32_t rest = 0;
        for (; j < bytes; j++) {
            rest += (uint32_t)__builtin_popcount((unsigned)(query[j] ^ row[j]));
        }
        sums[i] = vaddvq_u32(sum) + rest;
    }
}

const struct sqlcipherkit_vector_kernels sqlcipherkit_vectors_neon = {"NEON", dot_f32, l2_f32, dot_i8, hamming};

#endif
