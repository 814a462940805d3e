/* Encryption and SHA-512 of a page in one pass, with AVX2 and AES-NI. */
#if defined(__x86_64__)

#include "sha512_avx2.h"
#include "sha512_lanes_encrypt.h"

AVX2 size_t sqlcipherkit_sha512_avx2_encrypt(uint64_t state[8], const struct sqlcipherkit_aes_schedule *schedule,
                                             const uint8_t iv[16], const uint8_t *in, size_t size, uint8_t *out) {
    return lanes_encrypt(state, schedule, iv, in, size, out);
}

#endif
