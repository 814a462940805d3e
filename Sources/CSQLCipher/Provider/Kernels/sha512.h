/* SHA-512 (FIPS 180-4): kernels of the compression function, and the hash and HMAC state that is built on them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { sha512_block_size = 128, sha512_digest_size = 64, sha512_many = 8 };

struct sqlcipherkit_aes_schedule;

/* Folds blocks of 128 bytes into `state` (8 words): first `blocks` of them at `data`, then `tail_blocks` at `tail`.
 * Two places, because a page is hashed in place while the end of the message, with the page number and the padding, is built
 * elsewhere, and a kernel that works several blocks ahead must not stop in between. */
typedef void sqlcipherkit_sha512_compress(uint64_t state[8], const uint8_t *data, size_t blocks, const uint8_t *tail,
                                          size_t tail_blocks);

/* PBKDF2's loop (RFC 8018, 5.2) for HMAC-SHA512: `rounds` times u = HMAC(u), sum ^= u, with two compressions per round.
 * `inner` and `outer` are the states after the two pads; words, not bytes, throughout. */
typedef void sqlcipherkit_sha512_iterate(const uint64_t inner[8], const uint64_t outer[8], uint64_t u[8], uint64_t sum[8],
                                         uint32_t rounds);

/* Encrypts `size` bytes (a multiple of 16) of `in` to `out` with AES-256-CBC, and folds the whole blocks of that ciphertext into
 * `state` in the same pass: AES in CBC mode and SHA-512 each wait for their own last result, which leaves the CPU time for the
 * other. Returns how many bytes of `out` were folded in, the largest multiple of 128. */
typedef size_t sqlcipherkit_sha512_encrypt(uint64_t state[8], const struct sqlcipherkit_aes_schedule *schedule,
                                           const uint8_t iv[16], const uint8_t *in, size_t size, uint8_t *out);

/* Folds `blocks` blocks of each of the first `count` of eight messages into their states, which are given word by
 * word: state[i][j] is word i of message j. Takes much less time than `count` single messages. All eight messages must be readable,
 * and the states after the first `count` may change. */
typedef void sqlcipherkit_sha512_compress_many(uint64_t state[8][sha512_many], const uint8_t *const data[sha512_many],
                                               size_t blocks, size_t count);

/* An implementation. All give the same results; they differ in speed and in the CPU features they need. */
struct sqlcipherkit_sha512_kernel {
    const char *name;
    sqlcipherkit_sha512_compress *compress;
    sqlcipherkit_sha512_iterate *iterate;
    const char *iterate_name;
    /* The whole of PBKDF2-HMAC-SHA512: returns 0, or -1 if `iterate` must be used after all. NULL in most kernels. */
    int (*pbkdf2)(const uint8_t *password, size_t password_size, const uint8_t *salt, size_t salt_size, uint32_t iterations,
                  uint8_t *out, size_t size);
    sqlcipherkit_sha512_encrypt *encrypt_and_compress; /* needs AES-NI; NULL in kernels that cannot */
    sqlcipherkit_sha512_compress_many *compress_many;  /* NULL in kernels that cannot */
};

/* For unoptimised builds (Primitives/): a library that is compiled with optimisation, or portable C where there is none. */
extern const struct sqlcipherkit_sha512_kernel sqlcipherkit_sha512_library;
extern const struct sqlcipherkit_sha512_kernel sqlcipherkit_sha512_portable;
#if defined(__x86_64__)
extern const struct sqlcipherkit_sha512_kernel sqlcipherkit_sha512_bmi2;
extern const struct sqlcipherkit_sha512_kernel sqlcipherkit_sha512_avx2;
extern const struct sqlcipherkit_sha512_kernel sqlcipherkit_sha512_avx512;
/* Functions that vector kernels share with other kernels, and functions that are in separate files. */
sqlcipherkit_sha512_compress sqlcipherkit_sha512_bmi2_compress;
sqlcipherkit_sha512_iterate sqlcipherkit_sha512_bmi2_iterate, sqlcipherkit_sha512_avx512_iterate;
sqlcipherkit_sha512_encrypt sqlcipherkit_sha512_avx2_encrypt;
sqlcipherkit_sha512_compress_many sqlcipherkit_sha512_avx2_many, sqlcipherkit_sha512_avx512_many;
#elif defined(__aarch64__)
extern const struct sqlcipherkit_sha512_kernel sqlcipherkit_sha512_arm;
#endif

/* FIPS 180-4, 5.3.5: the state before the first block. */
extern const uint64_t sqlcipherkit_sha512_start[8];
/* FIPS 180-4, 4.2.3: the constants of the 80 rounds. */
extern const uint64_t sqlcipherkit_sha512_round_constants[80];

/* Converts a state to its 64 bytes, big endian, and back. */
void sqlcipherkit_sha512_put(uint8_t bytes[64], const uint64_t state[8]);
void sqlcipherkit_sha512_get(uint64_t state[8], const uint8_t bytes[64]);

/* Pads a message's last blocks, which hold `used` bytes followed by zeros: writes a one bit after the last byte, and the length of
 * the whole message, of `total` bytes, at the end. */
void sqlcipherkit_sha512_pad(uint8_t *last, size_t used, size_t blocks, uint64_t total);

/* Ends a message: folds `first`, then `second` (NULL and 0 if there is none), then the padding into `state`, which has already
 * taken in `before` bytes, a multiple of 128. */
void sqlcipherkit_sha512_finish(const struct sqlcipherkit_sha512_kernel *kernel, uint64_t state[8], uint64_t before,
                                const uint8_t *first, size_t first_size, const uint8_t *second, size_t second_size);

/* The part of HMAC-SHA512 (RFC 2104, FIPS 198-1) that depends only on the key: the states after the two pads. */
struct sqlcipherkit_sha512_pads {
    uint64_t inner[8];
    uint64_t outer[8];
};

/* Computes the pads of a key of any size; a key of more than 128 bytes is hashed first. */
void sqlcipherkit_hmac_sha512_pads(const struct sqlcipherkit_sha512_kernel *kernel, const uint8_t *key, size_t key_size,
                                   struct sqlcipherkit_sha512_pads *pads);

/* Computes the 64-byte MAC of `first` and `second`. `begun` is the inner state after the `before` bytes (a multiple of 128) that
 * precede `first`; NULL and 0 if the message begins with `first`. */
void sqlcipherkit_hmac_sha512(const struct sqlcipherkit_sha512_kernel *kernel,
                              const struct sqlcipherkit_sha512_pads *pads, const uint64_t begun[8], size_t before,
                              const uint8_t *first, size_t first_size, const uint8_t *second, size_t second_size,
                              uint8_t mac[64]);

/* PBKDF2-HMAC-SHA512 (RFC 8018): `size` bytes to `out`. `iterations` is at least 1. */
void sqlcipherkit_pbkdf2_sha512(const struct sqlcipherkit_sha512_kernel *kernel, const uint8_t *password,
                                size_t password_size, const uint8_t *salt, size_t salt_size, uint32_t iterations,
                                uint8_t *out, size_t size);
