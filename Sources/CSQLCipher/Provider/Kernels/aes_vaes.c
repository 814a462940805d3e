/* AES-256-CBC decryption with VAES: four blocks in each 64-byte register, sixteen at a time. Encryption is a chain and gains
 * nothing from width, and eight chains at once keep the narrow unit busy, so both use the AES-NI kernel, and so does the key's
 * expansion. */
#if defined(__x86_64__)

#include "aes.h"

#include <immintrin.h>

#define VAES __attribute__((target("aes,avx512f,avx512bw,vaes")))

enum { abreast = 4, stride = abreast * 64 };

VAES static void decrypt_cbc(const struct sqlcipherkit_aes_schedule *schedule, const uint8_t iv[16], const uint8_t *in,
                             size_t size, uint8_t *out) {
    __m512i keys[aes256_round_keys];
    for (int i = 0; i < aes256_round_keys; i++) {
        const void *key = schedule->decrypt + aes_block_size * i;
        keys[i] = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)key));
    }
    /* The ciphertext block before the first one is in the uppermost quarter, as the last block of a register would be. */
    __m512i before = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(const void *)iv));
    for (; size >= stride; size -= stride, in += stride, out += stride) {
        __m512i cipher[abreast];
        __m512i state[abreast];
        for (int i = 0; i < abreast; i++) {
            cipher[i] = _mm512_loadu_si512(in + 64 * i);
            state[i] = _mm512_xor_si512(cipher[i], keys[0]);
        }
        for (int round = 1; round < 14; round++) {
            for (int i = 0; i < abreast; i++) {
                state[i] = _mm512_aesdec_epi128(state[i], keys[round]);
            }
        }
        for (int i = 0; i < abreast; i++) {
            state[i] = _mm512_aesdeclast_epi128(state[i], keys[14]);
            /* Each block's chain is its left neighbour: the registers' quarters, shifted by one. */
            __m512i chain = _mm512_alignr_epi64(cipher[i], i == 0 ? before : cipher[i - 1], 6);
            _mm512_storeu_si512(out + 64 * i, _mm512_xor_si512(state[i], chain));
        }
        before = cipher[abreast - 1];
    }
    if (size > 0) {
        uint8_t last[aes_block_size];
        _mm_storeu_si128((__m128i *)(void *)last, _mm512_extracti32x4_epi32(before, 3));
        sqlcipherkit_aesni_decrypt_cbc(schedule, last, in, size, out);
    }
}

const struct sqlcipherkit_aes_kernel sqlcipherkit_aes_vaes = {
    .name = "VAES",
    .family = aes_family_aesni,
    .expand = sqlcipherkit_aesni_expand,
    .encrypt_cbc = sqlcipherkit_aesni_encrypt_cbc,
    .decrypt_cbc = decrypt_cbc,
    .encrypt_cbc_many = sqlcipherkit_aesni_encrypt_cbc_many,
};

#endif
