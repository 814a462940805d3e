/* Argon2id with all inputs of RFC 9106, and its kernels. For this package's own code and tests; see argon2.h. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
    argon2_block_words = 128,                     /* of 8 bytes: a block is 1 KiB (3.2) */
    argon2_block_size = argon2_block_words * 8,
    argon2_slices = 4,                            /* parts of a lane between which lanes wait for each other (3.4) */
};

/* A byte string; `bytes` may be NULL with size 0. */
struct sqlcipherkit_argon2_string {
    const void *bytes;
    size_t size;
};

/* The inputs of RFC 9106, 3.1. `secret` and `associated` are K and X, which databases do not use. */
struct sqlcipherkit_argon2_input {
    struct sqlcipherkit_argon2_string password, salt, secret, associated;
    uint32_t memory_kib, passes, lanes;
};

/* The compression function G (3.5): next = G(previous, reference). With `over`, the result is XORed with the old content of `next`.
 * Without `over`, `next` may be one of the other two. Blocks are aligned to 64 bytes. */
typedef void sqlcipherkit_argon2_fill(const uint64_t *previous, const uint64_t *reference, uint64_t *next, int over);

sqlcipherkit_argon2_fill sqlcipherkit_argon2_fill_portable;
#if defined(__x86_64__)
sqlcipherkit_argon2_fill sqlcipherkit_argon2_fill_avx2;
sqlcipherkit_argon2_fill sqlcipherkit_argon2_fill_avx512;
#endif

/* The fastest kernel that a CPU with `features` (cpu.h) can run, at any optimisation level: unlike for hashes, no library has a
 * prebuilt one. */
sqlcipherkit_argon2_fill *sqlcipherkit_argon2_fill_for(unsigned features);

/* As sqlcipherkit_argon2id(), with the kernel `fill`. */
int sqlcipherkit_argon2id_by(sqlcipherkit_argon2_fill *fill, const struct sqlcipherkit_argon2_input *input, void *out,
                             size_t out_size);
