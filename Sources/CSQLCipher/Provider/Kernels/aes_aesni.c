/* AES-256-CBC with the AES-NI instructions: in constant time, without tables. */
#if defined(__x86_64__)

#include "aes.h"

#include <immintrin.h>

#define AESNI __attribute__((target("aes,sse4.1")))

/* FIPS 197, 5.2: every round key is the key two places before it, with its words summed (by XOR) from the left, plus a word that
 * depends on the round key just before. */
AESNI static inline __m128i next_round_key(__m128i before_last, __m128i word) {
    before_last = _mm_xor_si128(before_last, _mm_slli_si128(before_last, 4));
    before_last = _mm_xor_si128(before_last, _mm_slli_si128(before_last, 8));
    return _mm_xor_si128(before_last, word);
}

AESNI int sqlcipherkit_aesni_expand(const uint8_t key[32], struct sqlcipherkit_aes_schedule *schedule) {
    __m128i *encrypt = (__m128i *)(void *)schedule->encrypt;
    __m128i *decrypt = (__m128i *)(void *)schedule->decrypt;
    __m128i low = _mm_loadu_si128((const __m128i *)(const void *)key);
    __m128i high = _mm_loadu_si128((const __m128i *)(const void *)(key + 16));
    _mm_storeu_si128(encrypt, low);
    _mm_storeu_si128(encrypt + 1, high);
    /* The round constant must be a literal. The last of the seven steps writes only one key, as there are 15. */
#define AES_STEP(i, constant)                                                                                          \
    low = next_round_key(low, _mm_shuffle_epi32(_mm_aeskeygenassist_si128(high, constant), 0xff));                     \
    _mm_storeu_si128(encrypt + (i), low);                                                                              \
    if ((i) < 14) {                                                                                                    \
        high = next_round_key(high, _mm_shuffle_epi32(_mm_aeskeygenassist_si128(low, 0), 0xaa));                       \
        _mm_storeu_si128(encrypt + (i) + 1, high);                                                                     \
    }
    AES_STEP(2, 0x01)
    AES_STEP(4, 0x02)
    AES_STEP(6, 0x04)
    AES_STEP(8, 0x08)
    AES_STEP(10, 0x10)
    AES_STEP(12, 0x20)
    AES_STEP(14, 0x40)
#undef AES_STEP
    /* FIPS 197, 5.3.5, the equivalent inverse cipher: the same keys backwards, the inner ones through InvMixColumns. */
    _mm_storeu_si128(decrypt, _mm_loadu_si128(encrypt + 14));
    for (int i = 1; i < 14; i++) {
        _mm_storeu_si128(decrypt + i, _mm_aesimc_si128(_mm_loadu_si128(encrypt + 14 - i)));
    }
    _mm_storeu_si128(decrypt + 14, _mm_loadu_si128(encrypt));
    return 0;
}

/* CBC encryption is one long chain: each block waits for the one before. To shorten it, the next block's plaintext and the first
 * round key are added to the last round key in advance, so that a block takes its 14 rounds and nothing else. */
AESNI void sqlcipherkit_aesni_encrypt_cbc(const struct sqlcipherkit_aes_schedule *schedule, const uint8_t iv[16],
                                          const uint8_t *in, size_t size, uint8_t *out) {
    const __m128i *keys = (const __m128i *)(const void *)schedule->encrypt;
    __m128i first_key = _mm_loadu_si128(keys);
    __m128i last_key = _mm_loadu_si128(keys + 14);
    if (size == 0) {
        return;
    }
    __m128i mixed = _mm_xor_si128(first_key, _mm_loadu_si128((const __m128i *)(const void *)in));
    __m128i state = _mm_xor_si128(mixed, _mm_loadu_si128((const __m128i *)(const void *)iv));
    for (size_t at = 0; at < size; at += aes_block_size) {
        for (int i = 1; i < 14; i++) {
            state = _mm_aesenc_si128(state, _mm_loadu_si128(keys + i));
        }
        mixed = _mm_setzero_si128();
        if (at + aes_block_size < size) {
            mixed = _mm_xor_si128(
                first_key, _mm_loadu_si128((const __m128i *)(const void *)(in + at + aes_block_size)));
        }
        state = _mm_aesenclast_si128(state, _mm_xor_si128(last_key, mixed));
        _mm_storeu_si128((__m128i *)(void *)(out + at), _mm_xor_si128(state, mixed));
    }
}

/* Eight chains at once: while one waits for its round, the unit processes the others. */
AESNI void sqlcipherkit_aesni_encrypt_cbc_many(const struct sqlcipherkit_aes_schedule *schedule,
                                               const uint8_t *const in[aes_many], size_t size,
                                               uint8_t *const out[aes_many]) {
    const __m128i *keys = (const __m128i *)(const void *)schedule->encrypt;
    __m128i state[aes_many];
    for (int i = 0; i < aes_many; i++) {
        state[i] = _mm_loadu_si128((const __m128i *)(const void *)(out[i] + size));
    }
    for (size_t at = 0; at < size; at += aes_block_size) {
        const __m128i first_key = _mm_loadu_si128(keys);
        for (int i = 0; i < aes_many; i++) {
            __m128i plain = _mm_loadu_si128((const __m128i *)(const void *)(in[i] + at));
            state[i] = _mm_xor_si128(state[i], _mm_xor_si128(plain, first_key));
        }
        for (int round = 1; round < 14; round++) {
            const __m128i key = _mm_loadu_si128(keys + round);
            for (int i = 0; i < aes_many; i++) {
                state[i] = _mm_aesenc_si128(state[i], key);
            }
        }
        for (int i = 0; i < aes_many; i++) {
            state[i] = _mm_aesenclast_si128(state[i], _mm_loadu_si128(keys + 14));
            _mm_storeu_si128((__m128i *)(void *)(out[i] + at), state[i]);
        }
    }
}

/* Blocks are decrypted eight at a time: they do not depend on each other, and the unit takes a new one each cycle. */
enum { abreast = 8 };

AESNI void sqlcipherkit_aesni_decrypt_cbc(const struct sqlcipherkit_aes_schedule *schedule, const uint8_t iv[16],
                                          const uint8_t *in, size_t size, uint8_t *out) {
    const __m128i *keys = (const __m128i *)(const void *)schedule->decrypt;
    __m128i chain = _mm_loadu_si128((const __m128i *)(const void *)iv);
    for (; size >= abreast * aes_block_size; size -= abreast * aes_block_size) {
        __m128i cipher[abreast];
        __m128i state[abreast];
        const __m128i *from = (const __m128i *)(const void *)in;
        __m128i *to = (__m128i *)(void *)out;
        for (int i = 0; i < abreast; i++) {
            cipher[i] = _mm_loadu_si128(from + i);
            state[i] = _mm_xor_si128(cipher[i], _mm_loadu_si128(keys));
        }
        for (int round = 1; round < 14; round++) {
            __m128i key = _mm_loadu_si128(keys + round);
            for (int i = 0; i < abreast; i++) {
                state[i] = _mm_aesdec_si128(state[i], key);
            }
        }
        for (int i = 0; i < abreast; i++) {
            state[i] = _mm_aesdeclast_si128(state[i], _mm_loadu_si128(keys + 14));
            _mm_storeu_si128(to + i, _mm_xor_si128(state[i], i == 0 ? chain : cipher[i - 1]));
        }
        chain = cipher[abreast - 1];
        in += abreast * aes_block_size;
        out += abreast * aes_block_size;
    }
    for (; size > 0; size -= aes_block_size, in += aes_block_size, out += aes_block_size) {
        __m128i cipher = _mm_loadu_si128((const __m128i *)(const void *)in);
        __m128i state = _mm_xor_si128(cipher, _mm_loadu_si128(keys));
        for (int round = 1; round < 14; round++) {
            state = _mm_aesdec_si128(state, _mm_loadu_si128(keys + round));
        }
        state = _mm_aesdeclast_si128(state, _mm_loadu_si128(keys + 14));
        _mm_storeu_si128((__m128i *)(void *)out, _mm_xor_si128(state, chain));
        chain = cipher;
    }
}

const struct sqlcipherkit_aes_kernel sqlcipherkit_aes_aesni = {
    .name = "AES-NI",
    .family = aes_family_aesni,
    .expand = sqlcipherkit_aesni_expand,
    .encrypt_cbc = sqlcipherkit_aesni_encrypt_cbc,
    .decrypt_cbc = sqlcipherkit_aesni_decrypt_cbc,
    .encrypt_cbc_many = sqlcipherkit_aesni_encrypt_cbc_many,
};

#endif
