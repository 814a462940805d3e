/* The second half of the template sha512_lanes.h, which the including file includes first: encryption in CBC mode
 * stitched into SHA-512. Its target has AES-NI as well. Pages/midstate.h says what it is for, and what it saves. */
#include "aes.h"

/* One block of CBC encryption, if one is left to encrypt. `keys` are the round keys, `chain` the last ciphertext block. It takes
 * about as long as the ten rounds of SHA-512 that it is stitched into. */
LANES_TARGET SHA512_INLINE __m128i lanes_encrypt_block(const __m128i *keys, __m128i chain, const uint8_t *in,
                                                       uint8_t *out) {
    __m128i state = _mm_xor_si128(_mm_loadu_si128((const __m128i *)(const void *)in), _mm_loadu_si128(keys));
    state = _mm_xor_si128(state, chain);
#pragma clang loop unroll(full)
    for (int round = 1; round < 14; round++) {
        state = _mm_aesenc_si128(state, _mm_loadu_si128(keys + round));
    }
    state = _mm_aesenclast_si128(state, _mm_loadu_si128(keys + 14));
    _mm_storeu_si128((__m128i *)(void *)out, state);
    return state;
}

#define LANES_ENCRYPT                                                                                                  \
    do {                                                                                                               \
        if (encrypted < size) {                                                                                        \
            chain = lanes_encrypt_block(keys, chain, in + encrypted, out + encrypted);                                 \
            encrypted += aes_block_size;                                                                               \
        }                                                                                                              \
        LANES_STAY_HERE;                                                                                               \
    } while (0)

/* Eight blocks of AES are one block of SHA-512: five pairs of rounds for each. */
#define LANES_AHEAD_AND_ENCRYPT(n)                                                                                     \
    LANES_AHEAD(n)                                                                                                     \
    if ((n) % 5 == 2) {                                                                                                \
        LANES_ENCRYPT;                                                                                                 \
    }

/* encrypt_and_compress of struct sqlcipherkit_sha512_kernel. Does three things in one pass: the rounds of a group, the schedule of
 * the next group, and the encryption of the group after that. */
LANES_TARGET SHA512_INLINE size_t lanes_encrypt(uint64_t state[8], const struct sqlcipherkit_aes_schedule *schedule,
                                                const uint8_t iv[16], const uint8_t *in, size_t size, uint8_t *out) {
    __attribute__((aligned(64))) uint64_t tables[2][lanes_table_words];
    const __m128i *keys = (const __m128i *)(const void *)schedule->encrypt;
    __m128i chain = _mm_loadu_si128((const __m128i *)(const void *)iv);
    const struct lanes_message message = {out, size / sha512_block_size, NULL, size / sha512_block_size};
    uint64_t *now = tables[0];
    uint64_t *next = tables[1];
    const uint8_t *block[LANES];
    size_t encrypted = 0;
    size_t at = 0;
    /* The first two groups must be encrypted before their words can be loaded. */
    while (encrypted < 2 * LANES * sha512_block_size && encrypted < size) {
        LANES_ENCRYPT;
    }
    if (message.total > 0) {
        lanes_locate(&message, 0, block);
        lanes_schedule(block, now);
    }
    LANES_GROUPS(&message, LANES_AHEAD_AND_ENCRYPT)
    while (encrypted < size) {
        LANES_ENCRYPT;
    }
    for (size_t lane = 0; at < message.total; at++, lane++) {
        lanes_rounds(state, now + 2 * lane);
    }
    return message.total * sha512_block_size;
}
