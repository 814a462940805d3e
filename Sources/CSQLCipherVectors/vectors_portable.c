/* The kernels in plain C: for other processors, and what the tests compare the others with. */
#include "kernels.h"

#include <string.h>

/* Sums of their own in each lane, as the vector kernels have them, let the compiler use whatever the processor has. */
enum { lanes = 8 };

static float total(const float sums[lanes]) {
    return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

static void dot_f32(const float *query, const void *vectors, size_t count, size_t dimensions, float *sums) {
    const uint8_t *row = vectors;
    for (size_t i = 0; i < count; i++, row += sizeof(float) * dimensions) {
        float lane[lanes] = {0};
        for (size_t j = 0; j < dimensions; j++) {
            float x;
            memcpy(&x, row + sizeof x * j, sizeof x);
            lane[j % lanes] += query[j] * x;
        }
        sums[i] = total(lane);
    }
}

static void l2_f32(const float *query, const void *vectors, size_t count, size_t dimensions, float *sums) {
    const uint8_t *row = vectors;
    for (size_t i = 0; i < count; i++, row += sizeof(float) * dimensions) {
        float lane[lanes] = {0};
        for (size_t j = 0; j < dimensions; j++) {
            float x;
            memcpy(&x, row + sizeof x * j, sizeof x);
            const float apart = query[j] - x;
            lane[j % lanes] += apart * apart;
        }
        sums[i] = total(lane);
    }
}

static void dot_i8(const int16_t *query, const void *vectors, size_t count, size_t dimensions, int32_t *sums) {
    const int8_t *row = vectors;
    for (size_t i = 0; i < count; i++, row += dimensions) {
        int32_t sum = 0;
        for (size_t j = 0; j < dimensions; j++) {
            sum += query[j] * row[j];
        }
        sums[i] = sum;
    }
}

static void hamming(const uint8_t *query, const void *vectors, size_t count, size_t bytes, uint32_t *sums) {
    const uint8_t *row = vectors;
    for (size_t i = 0; i < count; i++, row += bytes) {
        uint32_t sum = 0;
        size_t j = 0;
        for (; j + 8 <= bytes; j += 8) {
            uint64_t a, b;
            memcpy(&a, query + j, sizeof a);
            memcpy(&b, row + j, sizeof b);
            sum += (uint32_t)__builtin_popcountll(a ^ b);
        }
        for (; j < bytes; j++) {
            sum += (uint32_t)__builtin_popcount((unsigned)(query[j] ^ row[j]));
        }
        sums[i] = sum;
    }
}

const struct sqlcipherkit_vector_kernels sqlcipherkit_vectors_portable = {"plain C", dot_f32, l2_f32, dot_i8, hamming};
