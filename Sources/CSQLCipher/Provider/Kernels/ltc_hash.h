/* HMAC and PBKDF2 with SHA-1 and SHA-256, for files of SQLCipher 3 and older and for settings of one's own: LibTomCrypt's
 * hashes, with the states after the pads kept as they are for SHA-512. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* SQLCipher's numbers for the HMAC and the PBKDF2 algorithms. */
enum {
    SQLCIPHERKIT_SHA1 = 0,
    SQLCIPHERKIT_SHA256 = 1,
    SQLCIPHERKIT_SHA512 = 2,
};

enum { small_digest_words = 8, small_digest_size = 32, small_block_size = 64 };

/* The states after the pads: 5 words each with SHA-1, 8 with SHA-256. */
struct sqlcipherkit_small_pads {
    uint32_t inner[small_digest_words];
    uint32_t outer[small_digest_words];
};

/* The digest's size in bytes: 20 for SQLCIPHERKIT_SHA1, 32 for SQLCIPHERKIT_SHA256. No other algorithm may be passed to
 * these functions. */
size_t sqlcipherkit_small_digest_size(int algorithm);

/* The pads of a key of any size (RFC 2104). */
void sqlcipherkit_small_pads(int algorithm, const uint8_t *key, size_t key_size, struct sqlcipherkit_small_pads *pads);

/* The MAC of `first` and `second`, which may be NULL with size 0; writes the digest's size. */
void sqlcipherkit_small_hmac(int algorithm, const struct sqlcipherkit_small_pads *pads, const uint8_t *first,
                             size_t first_size, const uint8_t *second, size_t second_size, uint8_t *mac);

/* PBKDF2 (RFC 8018): `size` bytes to `out`; `iterations` is at least 1. The password's length costs nothing but its one
 * hash. */
void sqlcipherkit_small_pbkdf2(int algorithm, const uint8_t *password, size_t password_size, const uint8_t *salt,
                               size_t salt_size, uint32_t iterations, uint8_t *out, size_t size);

/* The version of LibTomCrypt that this was compiled with. */
const char *sqlcipherkit_ltc_version(void);
