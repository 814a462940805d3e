/* BLAKE2b without a key (RFC 7693), which Argon2 is built on. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { blake2b_block_size = 128 };

struct sqlcipherkit_blake2b {
    uint64_t state[8];
    uint64_t size; /* the number of bytes folded in */
    size_t waiting, digest_size;
    uint8_t rest[blake2b_block_size];
};

/* Begins a hash of `digest_size` bytes, 1 to 64. */
void sqlcipherkit_blake2b_start(struct sqlcipherkit_blake2b *hash, size_t digest_size);

/* Adds `size` bytes; with a size of 0, `bytes` may be NULL. */
void sqlcipherkit_blake2b_add(struct sqlcipherkit_blake2b *hash, const void *bytes, size_t size);

/* Writes the digest. The caller wipes `hash`. */
void sqlcipherkit_blake2b_finish(struct sqlcipherkit_blake2b *hash, uint8_t *digest);
