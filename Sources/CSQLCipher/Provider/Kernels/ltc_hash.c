/* HMAC and PBKDF2 on LibTomCrypt's SHA-1 and SHA-256. Its hash states are public structures, so that a state can be set
 * to what it was after a pad instead of hashing the pad again. */
#include "ltc_hash.h"
#include "../../System/secure.h"

#include <string.h>
#include <tomcrypt.h>

size_t sqlcipherkit_small_digest_size(int algorithm) {
    return algorithm == SQLCIPHERKIT_SHA1 ? 20 : 32;
}

const char *sqlcipherkit_ltc_version(void) {
    return SCRYPT;
}

/* Sets `hash` to `words` as if one block (a pad) had been hashed. */
static void resume(int algorithm, hash_state *hash, const uint32_t words[small_digest_words]) {
    if (algorithm == SQLCIPHERKIT_SHA1) {
        hash->sha1.length = small_block_size * 8;
        hash->sha1.curlen = 0;
        for (size_t i = 0; i < 5; i++) {
            hash->sha1.state[i] = words[i];
        }
    } else {
        hash->sha256.length = small_block_size * 8;
        hash->sha256.curlen = 0;
        for (size_t i = 0; i < 8; i++) {
            hash->sha256.state[i] = words[i];
        }
    }
}

/* The other way round. */
static void keep(int algorithm, const hash_state *hash, uint32_t words[small_digest_words]) {
    memset(words, 0, small_digest_words * sizeof *words);
    for (size_t i = 0; i < sqlcipherkit_small_digest_size(algorithm) / 4; i++) {
        words[i] = (uint32_t)(algorithm == SQLCIPHERKIT_SHA1 ? hash->sha1.state[i] : hash->sha256.state[i]);
    }
}

static void start(int algorithm, hash_state *hash) {
    (void)(algorithm == SQLCIPHERKIT_SHA1 ? sha1_init(hash) : sha256_init(hash));
}

static void process(int algorithm, hash_state *hash, const uint8_t *bytes, size_t size) {
    if (size > 0) {
        (void)(algorithm == SQLCIPHERKIT_SHA1 ? sha1_process(hash, bytes, (unsigned long)size)
                                              : sha256_process(hash, bytes, (unsigned long)size));
    }
}

static void finish(int algorithm, hash_state *hash, uint8_t *digest) {
    (void)(algorithm == SQLCIPHERKIT_SHA1 ? sha1_done(hash, digest) : sha256_done(hash, digest));
}

/* The part of the union that these hashes use; all of it is several times larger. */
static void wipe_hash(hash_state *hash) {
    sqlcipherkit_wipe(hash, sizeof hash->sha1 > sizeof hash->sha256 ? sizeof hash->sha1 : sizeof hash->sha256);
}

void sqlcipherkit_small_pads(int algorithm, const uint8_t *key, size_t key_size, struct sqlcipherkit_small_pads *pads) {
    hash_state hash;
    uint8_t block[small_block_size] = {0};
    if (key_size > sizeof block) {
        start(algorithm, &hash);
        process(algorithm, &hash, key, key_size);
        finish(algorithm, &hash, block);
    } else if (key_size > 0) {
        memcpy(block, key, key_size);
    }
    for (size_t i = 0; i < sizeof block; i++) {
        block[i] ^= 0x36;
    }
    start(algorithm, &hash);
    process(algorithm, &hash, block, sizeof block);
    keep(algorithm, &hash, pads->inner);
    for (size_t i = 0; i < sizeof block; i++) {
        block[i] ^= 0x36 ^ 0x5c;
    }
    start(algorithm, &hash);
    process(algorithm, &hash, block, sizeof block);
    keep(algorithm, &hash, pads->outer);
    wipe_hash(&hash);
    sqlcipherkit_wipe(block, sizeof block);
}

/* The body of an HMAC; the caller wipes `hash` and `digest`, which PBKDF2 uses thousands of times. */
static void authenticate(int algorithm, hash_state *hash, const struct sqlcipherkit_small_pads *pads,
                         const uint8_t *first, size_t first_size, const uint8_t *second, size_t second_size,
                         uint8_t digest[small_digest_size]) {
    resume(algorithm, hash, pads->inner);
    process(algorithm, hash, first, first_size);
    process(algorithm, hash, second, second_size);
    finish(algorithm, hash, digest);
    resume(algorithm, hash, pads->outer);
    process(algorithm, hash, digest, sqlcipherkit_small_digest_size(algorithm));
    finish(algorithm, hash, digest);
}

void sqlcipherkit_small_hmac(int algorithm, const struct sqlcipherkit_small_pads *pads, const uint8_t *first,
                             size_t first_size, const uint8_t *second, size_t second_size, uint8_t *mac) {
    hash_state hash;
    uint8_t digest[small_digest_size];
    authenticate(algorithm, &hash, pads, first, first_size, second, second_size, digest);
    memcpy(mac, digest, sqlcipherkit_small_digest_size(algorithm));
    wipe_hash(&hash);
    sqlcipherkit_wipe(digest, sizeof digest);
}

void sqlcipherkit_small_pbkdf2(int algorithm, const uint8_t *password, size_t password_size, const uint8_t *salt,
                               size_t salt_size, uint32_t iterations, uint8_t *out, size_t size) {
    struct sqlcipherkit_small_pads pads;
    hash_state hash;
    uint8_t u[small_digest_size];
    uint8_t sum[small_digest_size];
    size_t width = sqlcipherkit_small_digest_size(algorithm);
    sqlcipherkit_small_pads(algorithm, password, password_size, &pads);
    for (uint32_t index = 1; size > 0; index++) {
        const uint8_t number[4] = {
            (uint8_t)(index >> 24), (uint8_t)(index >> 16), (uint8_t)(index >> 8), (uint8_t)index,
        };
        authenticate(algorithm, &hash, &pads, salt, salt_size, number, sizeof number, u);
        memcpy(sum, u, width);
        for (uint32_t round = 1; round < iterations; round++) {
            authenticate(algorithm, &hash, &pads, u, width, NULL, 0, u);
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
    wipe_hash(&hash);
    sqlcipherkit_wipe(u, sizeof u);
    sqlcipherkit_wipe(sum, sizeof sum);
}
