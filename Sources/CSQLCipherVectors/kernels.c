/* Chooses the kernels, as the provider does: by the CPU alone. */
#include "kernels.h"

#include "../CSQLCipher/Provider/Kernels/cpu.h"

#include <stdint.h>

enum {
    avx2 = SQLCIPHERKIT_CPU_AVX2 | SQLCIPHERKIT_CPU_FMA,
    avx512 = avx2 | SQLCIPHERKIT_CPU_AVX512,
    vnni = avx512 | SQLCIPHERKIT_CPU_VNNI,
};

const struct sqlcipherkit_vector_kernels *sqlcipherkit_vector_kernels_for(unsigned features) {
    features &= sqlcipherkit_cpu_features();
#if defined(__x86_64__)
    if ((features & vnni) == vnni) {
        return &sqlcipherkit_vectors_vnni;
    }
    if ((features & avx512) == avx512) {
        return &sqlcipherkit_vectors_avx512;
    }
    if ((features & avx2) == avx2) {
        return &sqlcipherkit_vectors_avx2;
    }
#elif defined(__aarch64__)
    /* Every AArch64 processor has NEON: the portable kernels are for tests, which leave out all features. */
    if (features != 0) {
        return &sqlcipherkit_vectors_neon;
    }
#endif
    (void)features; /* other processors have one set alone */
    return &sqlcipherkit_vectors_portable;
}

unsigned sqlcipherkit_vector_feature_set(int number) {
    static const unsigned sets[] = {
        1u << 31, /* no feature that there is */
        avx2,
        avx512,
        SQLCIPHERKIT_CPU_OWN_CODE | avx512 | SQLCIPHERKIT_CPU_VNNI,
    };
    return number < 0 || (size_t)number >= sizeof sets / sizeof *sets ? 0 : sets[number];
}

int32_t sqlcipherkit_vector_query_limit(size_t dimensions) {
    const size_t most = (size_t)INT32_MAX / (128 * (dimensions > 0 ? dimensions : 1));
    return most < INT16_MAX ? (int32_t)most : INT16_MAX;
}
