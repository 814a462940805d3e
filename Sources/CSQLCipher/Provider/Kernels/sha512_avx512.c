/* SHA-512 with AVX-512: the schedule of four blocks at a time. */
#if defined(__x86_64__)

#include "sha512_avx512_lanes.h"

/* A separate function, as in sha512_avx2.c. */
__attribute__((noinline)) AVX512 static void compress_many(uint64_t state[8], const struct lanes_message *message) {
    lanes_compress(state, message);
}

AVX512 static void compress(uint64_t state[8], const uint8_t *data, size_t blocks, const uint8_t *tail,
                            size_t tail_blocks) {
    if (blocks + tail_blocks < 2) {
        if (blocks + tail_blocks == 1) {
            sqlcipherkit_sha512_avx512_lone(state, blocks == 1 ? data : tail);
        }
        return;
    }
    const struct lanes_message message = {data, blocks, tail, blocks + tail_blocks};
    compress_many(state, &message);
}

const struct sqlcipherkit_sha512_kernel sqlcipherkit_sha512_avx512 = {
    .name = "AVX-512",
    .compress = compress,
    .iterate = sqlcipherkit_sha512_avx512_iterate,
    .iterate_name = "AVX-512",
    /* Four blocks to a 64-byte register was measured as well, and takes 5% longer: twice as much of the page must be encrypted
     * before there is a group to hash, and wide instructions leave less room for the AES instructions. */
    .encrypt_and_compress = sqlcipherkit_sha512_avx2_encrypt,
    .compress_many = sqlcipherkit_sha512_avx512_many,
};

#endif
