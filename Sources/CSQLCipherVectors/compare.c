/* Distances from the kernels' sums. What a chunk holds is a claim of the file: every factor and every distance is checked. */
#include "kernels.h"

#include "../CSQLCipher/Provider/Kernels/cpu.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

/* Found once: asking the CPU takes longer than comparing many vectors. Threads that get here at the same time find the same. */
static const struct sqlcipherkit_vector_kernels *kernels(void) {
    static _Atomic(const struct sqlcipherkit_vector_kernels *) in_use;
    const struct sqlcipherkit_vector_kernels *found = atomic_load_explicit(&in_use, memory_order_acquire);
    if (found == NULL) {
        found = sqlcipherkit_vector_kernels_for(sqlcipherkit_cpu_features());
        atomic_store_explicit(&in_use, found, memory_order_release);
    }
    return found;
}

size_t sqlcipherkit_vector_size(int32_t element, size_t dimensions) {
    switch (element) {
    case sqlcipherkit_vector_float32: return 4 * dimensions;
    case sqlcipherkit_vector_int8: return (dimensions + 7) / 8 * 8;
    default: return (dimensions + 63) / 64 * 8;
    }
}

static int is_finite(float x) {
    return x >= -FLT_MAX && x <= FLT_MAX;
}

/* The distance of one vector. For L2 over floats `sum` is the squared distance, otherwise the dot product. */
static float distance(const struct sqlcipherkit_vector_query *query, float sum, float norm) {
    switch (query->metric) {
    case sqlcipherkit_vector_cosine: {
        const float cosine = sum / (norm * query->norm);
        /* Rounding may lead just beyond the ends. What is farther beyond has another length than its factors say; NaN is, too. */
        if (!(fabsf(cosine) < 1.001f)) {
            return NAN;
        }
        return cosine > 1 ? 0 : 1 - cosine;
    }
    case sqlcipherkit_vector_dot: return -sum;
    default: {
        const float squared = query->element == sqlcipherkit_vector_float32
            ? sum
            : query->norm * query->norm + norm * norm - 2 * sum;
        return squared < 0 ? 0 : sqrtf(squared);
    }
    }
}

enum { block = 64 };

ptrdiff_t sqlcipherkit_vector_compare(const struct sqlcipherkit_vector_query *query, const void *vectors, const void *factors,
                                      size_t count, float limit, float *distances, uint32_t *places) {
    const struct sqlcipherkit_vector_kernels *kernel = kernels();
    const size_t size = sqlcipherkit_vector_size(query->element, query->dimensions);
    ptrdiff_t found = 0;
    for (size_t start = 0; start < count; start += block) {
        const size_t some = count - start < block ? count - start : block;
        const uint8_t *first = (const uint8_t *)vectors + start * size;
        float sums[block];
        if (query->element == sqlcipherkit_vector_bits) {
            uint32_t bits[block];
            kernel->hamming(query->values, first, some, size, bits);
            for (size_t i = 0; i < some; i++) {
                sums[i] = (float)bits[i];
            }
        } else if (query->element == sqlcipherkit_vector_int8) {
            int32_t products[block];
            kernel->dot_i8(query->values, first, some, size, products);
            for (size_t i = 0; i < some; i++) {
                sums[i] = (float)products[i] * query->scale;
            }
        } else if (query->metric == sqlcipherkit_vector_l2) {
            kernel->l2_f32(query->values, first, some, query->dimensions, sums);
        } else {
            kernel->dot_f32(query->values, first, some, query->dimensions, sums);
        }
        for (size_t i = 0; i < some; i++) {
            const size_t place = start + i;
            float far = sums[i];
            if (query->element != sqlcipherkit_vector_bits) {
                float factor[2]; /* the scale and the norm */
                memcpy(factor, (const uint8_t *)factors + place * sizeof factor, sizeof factor);
                if (!(factor[0] > 0) || !is_finite(factor[0]) || !(factor[1] >= 0) || !is_finite(factor[1])) {
                    return -1;
                }
                far = distance(query, query->element == sqlcipherkit_vector_int8 ? far * factor[0] : far, factor[1]);
            }
            if (!is_finite(far)) {
                return -1;
            }
            distances[place] = far;
            if (far <= limit) {
                places[found++] = (uint32_t)place;
            }
        }
    }
    return found;
}
