/* Compares this processor's kernels for vectors with those in plain C, on random vectors of many lengths: for processors that the
 * Swift tests do not run on. Prints which kernels they are, and how many sums differ, which is the status as well. */
#include "../../Sources/CSQLCipher/Provider/Kernels/cpu.h"
#include "../../Sources/CSQLCipherVectors/kernels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { count = 3, longest = 400 };

static uint64_t state = 88172645463325252u;

static uint32_t drawn(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16);
}

static float number(void) {
    return (float)(drawn() % 2001) / 1000 - 1;
}

/* Memory that ends where the vectors do, and begins at an odd address one byte after it. */
static uint8_t *bytes(size_t size) {
    uint8_t *memory = malloc(size + 1);
    if (memory == NULL) {
        exit(2);
    }
    return memory;
}

static int differing(const struct sqlcipherkit_vector_kernels *plain, const struct sqlcipherkit_vector_kernels *fast, size_t length,
                     int extreme) {
    float query[longest], floats[2][count];
    int16_t integers[longest];
    int32_t products[2][count];
    uint32_t bits[2][count];
    uint8_t *numbers = bytes(sizeof(float) * length * count), *small = bytes(length * count);
    const int32_t limit = sqlcipherkit_vector_query_limit(length);
    for (size_t i = 0; i < length; i++) {
        query[i] = number();
        integers[i] = (int16_t)(extreme ? limit : (int32_t)(drawn() % (2 * (uint32_t)limit + 1)) - limit);
    }
    for (size_t i = 0; i < length * count; i++) {
        const float x = number();
        memcpy(numbers + 1 + sizeof x * i, &x, sizeof x);
        small[1 + i] = extreme ? 0x80 : (uint8_t)drawn();
    }
    int wrong = 0;
    for (int is_l2 = 0; is_l2 < 2; is_l2++) {
        (is_l2 ? plain->l2_f32 : plain->dot_f32)(query, numbers + 1, count, length, floats[0]);
        (is_l2 ? fast->l2_f32 : fast->dot_f32)(query, numbers + 1, count, length, floats[1]);
        for (int i = 0; i < count; i++) {
            wrong += fabsf(floats[0][i] - floats[1][i]) > 1e-5f * (float)length;
        }
    }
    plain->dot_i8(integers, small + 1, count, length, products[0]);
    fast->dot_i8(integers, small + 1, count, length, products[1]);
    plain->hamming((const uint8_t *)query, small + 1, count, length, bits[0]);
    fast->hamming((const uint8_t *)query, small + 1, count, length, bits[1]);
    for (int i = 0; i < count; i++) {
        wrong += (products[0][i] != products[1][i]) + (bits[0][i] != bits[1][i]);
    }
    free(numbers);
    free(small);
    return wrong;
}

int main(void) {
    const struct sqlcipherkit_vector_kernels *plain = sqlcipherkit_vector_kernels_for(0);
    const struct sqlcipherkit_vector_kernels *fast = sqlcipherkit_vector_kernels_for(sqlcipherkit_cpu_features());
    int wrong = 0;
    for (int round = 0; round < 20; round++) {
        for (size_t length = 1; length <= longest; length += length < 80 ? 1 : 37) {
            wrong += differing(plain, fast, length, round == 0);
        }
    }
    printf("vectors: %s beside %s, %d sums differ\n", fast->name, plain->name, wrong);
    return fast == plain || wrong != 0;
}
