/* The portable code of SHA-512, compiled for BMI2: RORX rotates into another register without changing the flags. */
#if defined(__x86_64__)

#include "sha512_rounds.h"

#define BMI2 __attribute__((target("bmi,bmi2")))

BMI2 void sqlcipherkit_sha512_bmi2_compress(uint64_t state[8], const uint8_t *data, size_t blocks, const uint8_t *tail,
                                            size_t tail_blocks) {
    sha512_fold_run(state, data, blocks);
    sha512_fold_run(state, tail, tail_blocks);
}

BMI2 void sqlcipherkit_sha512_bmi2_iterate(const uint64_t inner[8], const uint64_t outer[8], uint64_t u[8],
                                           uint64_t sum[8], uint32_t rounds) {
    sha512_iterate(inner, outer, u, sum, rounds);
}

const struct sqlcipherkit_sha512_kernel sqlcipherkit_sha512_bmi2 = {
    .name = "BMI2",
    .compress = sqlcipherkit_sha512_bmi2_compress,
    .iterate = sqlcipherkit_sha512_bmi2_iterate,
    .iterate_name = "BMI2",
};

#endif
