/* SHA-1 and SHA-256 (FIPS 180-4), for files of SQLCipher 3 and older, and for custom settings. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "library.h"

#if defined(SQLCIPHERKIT_USES_COMMONCRYPTO)
#include <CommonCrypto/CommonDigest.h>
#endif

/* SQLCipher's numbers for the HMAC and the PBKDF2 algorithms. The functions here take only the first two. */
enum {
    SQLCIPHERKIT_SHA1 = 0,
    SQLCIPHERKIT_SHA256 = 1,
    SQLCIPHERKIT_SHA512 = 2,
};

enum { hash_digest_size = 32, hash_block_size = 64 };

/* The state of a hash after one block, such as an HMAC's pad. It can be copied by value. The caller wipes it. */
struct sqlcipherkit_hash_state {
#if defined(SQLCIPHERKIT_USES_COMMONCRYPTO)
    /* Each library has its own format for the bytes of a context. */
    union {
        CC_SHA1_CTX sha1;
        CC_SHA256_CTX sha256;
    } context;
#else
    uint32_t words[8]; /* SHA-1 uses 5 of them */
#endif
};

/* The digest's size in bytes: 20 for SHA-1, 32 for SHA-256. */
size_t sqlcipherkit_hash_size(int algorithm);

/* Hashes one block of 64 bytes into a new state. */
void sqlcipherkit_hash_block(int algorithm, const uint8_t block[hash_block_size], struct sqlcipherkit_hash_state *state);

/* Computes the digest of the block that `state` has taken in (none if it is NULL), then `first`, then `second`, each NULL or of any
 * size. Writes sqlcipherkit_hash_size() bytes. */
void sqlcipherkit_hash(int algorithm, const struct sqlcipherkit_hash_state *state, const uint8_t *first, size_t first_size,
                       const uint8_t *second, size_t second_size, uint8_t *digest);
