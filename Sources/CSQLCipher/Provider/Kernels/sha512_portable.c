/* SHA-512 in portable C: for every CPU without a kernel of its own. */
#include "sha512_rounds.h"

static void compress(uint64_t state[8], const uint8_t *data, size_t blocks, const uint8_t *tail, size_t tail_blocks) {
    sha512_fold_run(state, data, blocks);
    sha512_fold_run(state, tail, tail_blocks);
}

static void iterate(const uint64_t inner[8], const uint64_t outer[8], uint64_t u[8], uint64_t sum[8], uint32_t rounds) {
    sha512_iterate(inner, outer, u, sum, rounds);
}

const struct sqlcipherkit_sha512_kernel sqlcipherkit_sha512_portable = {
    .name = "portable C",
    .compress = compress,
    .iterate = iterate,
    .iterate_name = "portable C",
};
