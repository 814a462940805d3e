/* SHA-512 in portable C, for every CPU without a special kernel. */
#include "sha512_rounds.h"
#include "../Primitives/library.h"

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

#if !defined(SQLCIPHERKIT_USES_LIBTOMCRYPT)
#if defined(SQLCIPHERKIT_USES_COMMONCRYPTO)
int sqlcipherkit_commoncrypto_pbkdf2(const uint8_t *password, size_t password_size, const uint8_t *salt, size_t salt_size,
                                     uint32_t iterations, uint8_t *out, size_t size);
#endif

const struct sqlcipherkit_sha512_kernel sqlcipherkit_sha512_library = {
    .name = "portable C",
    .compress = compress,
    .iterate = iterate,
#if defined(SQLCIPHERKIT_USES_COMMONCRYPTO)
    .pbkdf2 = sqlcipherkit_commoncrypto_pbkdf2,
    .iterate_name = SQLCIPHERKIT_LIBRARY_NAME,
#else
    .iterate_name = "portable C",
#endif
};
#endif
