/* The authenticated encryption ChaCha20-Poly1305 (RFC 8439), for key slots: inputs of some hundred bytes. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct sqlcipherkit_chacha20_key {
    const uint8_t *key;        /* 32 bytes */
    const uint8_t *nonce;      /* 12 bytes */
    const uint8_t *associated; /* may be NULL, with a count of 0 */
    size_t associated_count;
};

/* Encrypts `count` bytes, and writes the tag of 16 bytes. Returns SQLITE_OK. */
int sqlcipherkit_chacha20_poly1305_seal(const struct sqlcipherkit_chacha20_key *with, const uint8_t *plain, size_t count,
                                        uint8_t *sealed, uint8_t tag[16]);

/* Decrypts `count` bytes. Returns SQLITE_AUTH if the tag does not belong to them; `plain` may be used only on SQLITE_OK. The caller
 * wipes it. */
int sqlcipherkit_chacha20_poly1305_open(const struct sqlcipherkit_chacha20_key *with, const uint8_t *sealed, size_t count,
                                        const uint8_t tag[16], uint8_t *plain);
