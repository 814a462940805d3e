/* AES-256-CBC with the AArch64 AES instructions: in constant time, without tables. */
#if defined(__aarch64__)

#include "aes.h"
#include "../../System/secure.h"

#include <arm_neon.h>
#include <string.h>

#define ARM_AES __attribute__((target("+aes")))

/* FIPS 197, 4.2: the S-box applied to each byte of a word. AESE with a key of zeros is ShiftRows after SubBytes; with the
 * word in all four columns ShiftRows changes nothing. */
ARM_AES static uint32_t substitute(uint32_t word) {
    uint8x16_t column = vreinterpretq_u8_u32(vdupq_n_u32(word));
    return vgetq_lane_u32(vreinterpretq_u32_u8(vaeseq_u8(column, vdupq_n_u8(0))), 0);
}

/* FIPS 197, 5.2, in little-endian words, where the rotation by a byte is to the right and the round constant in the low
 * byte. Decryption (5.3.5) uses the same keys backwards, the inner ones through InvMixColumns. */
ARM_AES static int expand(const uint8_t key[32], struct sqlcipherkit_aes_schedule *schedule) {
    uint32_t words[4 * aes256_round_keys];
    uint32_t constant = 1;
    memcpy(words, key, aes256_key_size);
    for (int i = 8; i < 4 * aes256_round_keys; i++) {
        uint32_t word = words[i - 1];
        if (i % 8 == 0) {
            word = substitute(word);
            word = (word >> 8 | word << 24) ^ constant;
            constant <<= 1;
        } else if (i % 8 == 4) {
            word = substitute(word);
        }
        words[i] = words[i - 8] ^ word;
    }
    memcpy(schedule->encrypt, words, sizeof schedule->encrypt);
    sqlcipherkit_wipe(words, sizeof words);
    for (int i = 0; i < aes256_round_keys; i++) {
        uint8x16_t round_key = vld1q_u8(schedule->encrypt + aes_block_size * (aes256_round_keys - 1 - i));
        if (i > 0 && i < aes256_round_keys - 1) {
            round_key = vaesimcq_u8(round_key);
        }
        vst1q_u8(schedule->decrypt + aes_block_size * i, round_key);
    }
    return 0;
}

ARM_AES static void encrypt_cbc(const struct sqlcipherkit_aes_schedule *schedule, const uint8_t iv[16],
                                const uint8_t *in, size_t size, uint8_t *out) {
    const uint8_t *keys = schedule->encrypt;
    uint8x16_t state = vld1q_u8(iv);
    for (; size > 0; size -= aes_block_size, in += aes_block_size, out += aes_block_size) {
        state = veorq_u8(state, vld1q_u8(in));
        /* AESE adds the key first, so the last key is added separately. */
        for (int i = 0; i < 13; i++) {
            state = vaesmcq_u8(vaeseq_u8(state, vld1q_u8(keys + aes_block_size * i)));
        }
        state = veorq_u8(vaeseq_u8(state, vld1q_u8(keys + aes_block_size * 13)), vld1q_u8(keys + aes_block_size * 14));
        vst1q_u8(out, state);
    }
}

/* Eight independent blocks at a time. */
enum { abreast = 8 };

ARM_AES static void decrypt_cbc(const struct sqlcipherkit_aes_schedule *schedule, const uint8_t iv[16],
                                const uint8_t *in, size_t size, uint8_t *out) {
    const uint8_t *keys = schedule->decrypt;
    uint8x16_t last = vld1q_u8(keys + aes_block_size * 14);
    uint8x16_t chain = vld1q_u8(iv);
    while (size > 0) {
        const int blocks = size >= abreast * aes_block_size ? abreast : 1;
        uint8x16_t cipher[abreast];
        uint8x16_t state[abreast];
        for (int i = 0; i < blocks; i++) {
            cipher[i] = vld1q_u8(in + aes_block_size * i);
            state[i] = cipher[i];
        }
        for (int round = 0; round < 13; round++) {
            uint8x16_t key = vld1q_u8(keys + aes_block_size * round);
            for (int i = 0; i < blocks; i++) {
                state[i] = vaesimcq_u8(vaesdq_u8(state[i], key));
            }
        }
        for (int i = 0; i < blocks; i++) {
            state[i] = veorq_u8(vaesdq_u8(state[i], vld1q_u8(keys + aes_block_size * 13)), last);
            vst1q_u8(out + aes_block_size * i, veorq_u8(state[i], i == 0 ? chain : cipher[i - 1]));
        }
        chain = cipher[blocks - 1];
        in += aes_block_size * blocks;
        out += aes_block_size * blocks;
        size -= (size_t)(aes_block_size * blocks);
    }
}

const struct sqlcipherkit_aes_kernel sqlcipherkit_aes_arm = {
    .name = "AArch64 AES",
    .family = aes_family_arm,
    .expand = expand,
    .encrypt_cbc = encrypt_cbc,
    .decrypt_cbc = decrypt_cbc,
};

#endif
