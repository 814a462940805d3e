/* HMAC and PBKDF2 with SHA-1 and SHA-256 from any library. The states after the pads are kept, as for SHA-512. */
#pragma once

#include "hash.h"

/* The states after the pads. */
struct sqlcipherkit_small_pads {
    struct sqlcipherkit_hash_state inner;
    struct sqlcipherkit_hash_state outer;
};

/* The pads of a key of any size (RFC 2104). */
void sqlcipherkit_small_pads(int algorithm, const uint8_t *key, size_t key_size, struct sqlcipherkit_small_pads *pads);

/* The MAC of `first` and `second`, which may be NULL with size 0; writes the digest's size. */
void sqlcipherkit_small_hmac(int algorithm, const struct sqlcipherkit_small_pads *pads, const uint8_t *first,
                             size_t first_size, const uint8_t *second, size_t second_size, uint8_t *mac);

/* PBKDF2 (RFC 8018): writes `size` bytes to `out`; `iterations` is at least 1. A long password costs only one hash of it. */
void sqlcipherkit_small_pbkdf2(int algorithm, const uint8_t *password, size_t password_size, const uint8_t *salt,
                               size_t salt_size, uint32_t iterations, uint8_t *out, size_t size);
