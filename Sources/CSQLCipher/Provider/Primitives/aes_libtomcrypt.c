/* AES-256-CBC by LibTomCrypt, for CPUs without AES instructions. It looks up tables by secret bytes, so its time depends on the
 * data; that is why it is only the last resort. */
#include "../Kernels/aes.h"
#include "library.h"

#if defined(SQLCIPHERKIT_USES_LIBTOMCRYPT)
#include "../../System/secure.h"

#include <string.h>
#include <tomcrypt.h>

/* A schedule holds LibTomCrypt's round keys as words of 4 bytes in the host's order. LibTomCrypt's own type for them has 8
 * on some platforms. */
enum { words = aes256_round_keys * aes_block_size / 4 };

static void store(uint8_t *schedule, const ulong32 *round_keys) {
    for (size_t i = 0; i < words; i++) {
        uint32_t word = (uint32_t)round_keys[i];
        memcpy(schedule + 4 * i, &word, sizeof word);
    }
}

static void load(ulong32 *round_keys, const uint8_t *schedule) {
    for (size_t i = 0; i < words; i++) {
        uint32_t word;
        memcpy(&word, schedule + 4 * i, sizeof word);
        round_keys[i] = word;
    }
}

static int expand(const uint8_t key[32], struct sqlcipherkit_aes_schedule *schedule) {
    symmetric_key expanded;
    if (aes_setup(key, aes256_key_size, 0, &expanded) != CRYPT_OK) {
        return -1;
    }
    store(schedule->encrypt, expanded.rijndael.eK);
    store(schedule->decrypt, expanded.rijndael.dK);
    sqlcipherkit_wipe(&expanded.rijndael, sizeof expanded.rijndael);
    return 0;
}

static void add(uint8_t block[16], const uint8_t other[16]) {
    for (size_t i = 0; i < aes_block_size; i++) {
        block[i] ^= other[i];
    }
}

static void encrypt_cbc(const struct sqlcipherkit_aes_schedule *schedule, const uint8_t iv[16], const uint8_t *in,
                        size_t size, uint8_t *out) {
    symmetric_key key;
    uint8_t chain[aes_block_size];
    key.rijndael.Nr = aes256_round_keys - 1;
    load(key.rijndael.eK, schedule->encrypt);
    memcpy(chain, iv, sizeof chain);
    for (; size > 0; size -= aes_block_size, in += aes_block_size, out += aes_block_size) {
        add(chain, in);
        (void)aes_ecb_encrypt(chain, chain, &key);
        memcpy(out, chain, sizeof chain);
    }
    sqlcipherkit_wipe(&key.rijndael, sizeof key.rijndael);
}

static void decrypt_cbc(const struct sqlcipherkit_aes_schedule *schedule, const uint8_t iv[16], const uint8_t *in,
                        size_t size, uint8_t *out) {
    symmetric_key key;
    uint8_t chain[aes_block_size];
    uint8_t next[aes_block_size];
    key.rijndael.Nr = aes256_round_keys - 1;
    load(key.rijndael.dK, schedule->decrypt);
    memcpy(chain, iv, sizeof chain);
    for (; size > 0; size -= aes_block_size, in += aes_block_size, out += aes_block_size) {
        memcpy(next, in, sizeof next);
        (void)aes_ecb_decrypt(next, out, &key);
        add(out, chain);
        memcpy(chain, next, sizeof chain);
    }
    sqlcipherkit_wipe(&key.rijndael, sizeof key.rijndael);
}

const struct sqlcipherkit_aes_kernel sqlcipherkit_aes_library = {
    .name = "LibTomCrypt",
    .family = aes_family_library,
    .expand = expand,
    .encrypt_cbc = encrypt_cbc,
    .decrypt_cbc = decrypt_cbc,
};
#endif
