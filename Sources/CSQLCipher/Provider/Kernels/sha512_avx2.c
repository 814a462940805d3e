/* SHA-512 with AVX2: the schedule of two blocks at a time, and with AES-NI the encryption of a page in the same pass. */
#if defined(__x86_64__)

#include "sha512_avx2.h"
#include "sha512_lanes_encrypt.h"

/* A separate function, so that the frame of a lone block, the end of every HMAC, is not below these tables on the stack: what its
 * compression leaves there is wiped after each page (sqlcipherkit_wipe_stack_near). */
__attribute__((noinline)) AVX2 static void compress_many(uint64_t state[8], const struct lanes_message *message) {
    lanes_compress(state, message);
}

AVX2 static void compress(uint64_t state[8], const uint8_t *data, size_t blocks, const uint8_t *tail,
                          size_t tail_blocks) {
    if (blocks + tail_blocks < 2) {
        sqlcipherkit_sha512_bmi2_compress(state, data, blocks, tail, tail_blocks);
        return;
    }
    const struct lanes_message message = {data, blocks, tail, blocks + tail_blocks};
    compress_many(state, &message);
}

AVX2 size_t sqlcipherkit_sha512_avx2_encrypt(uint64_t state[8], const struct sqlcipherkit_aes_schedule *schedule,
                                             const uint8_t iv[16], const uint8_t *in, size_t size, uint8_t *out) {
    return lanes_encrypt(state, schedule, iv, in, size, out);
}

const struct sqlcipherkit_sha512_kernel sqlcipherkit_sha512_avx2 = {
    .name = "AVX2",
    .compress = compress,
    .iterate = sqlcipherkit_sha512_bmi2_iterate,
    .iterate_name = "BMI2",
    .encrypt_and_compress = sqlcipherkit_sha512_avx2_encrypt,
    .compress_many = sqlcipherkit_sha512_avx2_many,
};

#endif
