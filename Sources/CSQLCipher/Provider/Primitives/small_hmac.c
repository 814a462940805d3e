/* See small_hmac.h. */
#include "small_hmac.h"
#include "../../System/secure.h"

#include <string.h>

void sqlcipherkit_small_pads(int algorithm, const uint8_t *key, size_t key_size, struct sqlcipherkit_small_pads *pads) {
    uint8_t block[hash_block_size] = {0};
    if (key_size > sizeof block) {
        sqlcipherkit_hash(algorithm, NULL, key, key_size, NULL, 0, block);
    } else if (key_size > 0) {
        memcpy(block, key, key_size);
    }
    /* All bytes, as a library need not fill everything that it keeps. */
    memset(pads, 0, sizeof *pads);
    for (size_t i = 0; i < sizeof block; i++) {
        block[i] ^= 0x36;
    }
    sqlcipherkit_hash_block(algorithm, block, &pads->inner);
    for (size_t i = 0; i < sizeof block; i++) {
        block[i] ^= 0x36 ^ 0x5c;
    }
    sqlcipherkit_hash_block(algorithm, block, &pads->outer);
    sqlcipherkit_wipe(block, sizeof block);
}

/* The body of an HMAC; the caller wipes `digest`, which PBKDF2 uses thousands of times. */
static void authenticate(int algorithm, const struct sqlcipherkit_small_pads *pads, const uint8_t *first, size_t first_size,
                         const uint8_t *second, size_t second_size, uint8_t digest[hash_digest_size]) {
    sqlcipherkit_hash(algorithm, &pads->inner, first, first_size, second, second_size, digest);
    sqlcipherkit_hash(algorithm, &pads->outer, digest, sqlcipherkit_hash_size(algorithm), NULL, 0, digest);
}

void sqlcipherkit_small_hmac(int algorithm, const struct sqlcipherkit_small_pads *pads, const uint8_t *first,
                             size_t first_size, const uint8_t *second, size_t second_size, uint8_t *mac) {
    uint8_t digest[hash_digest_size];
    authenticate(algorithm, pads, first, first_size, second, second_size, digest);
    memcpy(mac, digest, sqlcipherkit_hash_size(algorithm));
    sqlcipherkit_wipe(digest, sizeof digest);
}

void sqlcipherkit_small_pbkdf2(int algorithm, const uint8_t *password, size_t password_size, const uint8_t *salt,
                               size_t salt_size, uint32_t iterations, uint8_t *out, size_t size) {
    struct sqlcipherkit_small_pads pads;
    uint8_t u[hash_digest_size];
    uint8_t sum[hash_digest_size];
    size_t width = sqlcipherkit_hash_size(algorithm);
    sqlcipherkit_small_pads(algorithm, password, password_size, &pads);
    for (uint32_t index = 1; size > 0; index++) {
        const uint8_t number[4] = {
            (uint8_t)(index >> 24), (uint8_t)(index >> 16), (uint8_t)(index >> 8), (uint8_t)index,
        };
        authenticate(algorithm, &pads, salt, salt_size, number, sizeof number, u);
        memcpy(sum, u, width);
        for (uint32_t round = 1; round < iterations; round++) {
            authenticate(algorithm, &pads, u, width, NULL, 0, u);
            for (size_t i = 0; i < width; i++) {
                sum[i] ^= u[i];
            }
        }
        size_t part = size < width ? size : width;
        memcpy(out, sum, part);
        out += part;
        size -= part;
    }
    sqlcipherkit_wipe(&pads, sizeof pads);
    sqlcipherkit_wipe(u, sizeof u);
    sqlcipherkit_wipe(sum, sizeof sum);
}
