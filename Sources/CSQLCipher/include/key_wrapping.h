/* Authenticated encryption and a message authentication code for small secrets, with which key slots are sealed.
 *
 * The encryption is the plain C in Provider/Primitives, and the authentication code comes from this package's SHA-512 kernels, also
 * where OpenSSL encrypts the pages. Neither looks anything up in a table by secret data.
 */
#pragma once

#include <stddef.h>

#define SQLCIPHERKIT_SEAL_KEY 32
#define SQLCIPHERKIT_SEAL_NONCE 12
#define SQLCIPHERKIT_SEAL_TAG 16
#define SQLCIPHERKIT_MAC 64

/* ChaCha20-Poly1305 (RFC 8439, 2.8): encrypts `count` bytes of `plain` to `sealed`, and writes the 16 bytes of `tag` over them
 * and the `associated` bytes. `key` has 32 bytes and `nonce` 12, never used twice with one key. Returns an SQLite result code. */
int sqlcipherkit_seal(const void *key, const void *nonce, const void *associated, size_t associated_count,
                      const void *plain, size_t count, void *sealed, void *tag);

/* Decrypts what sqlcipherkit_seal has encrypted. Returns SQLITE_AUTH, and leaves only zeros in `plain`, if key, nonce, associated
 * bytes, sealed bytes and tag do not belong together. */
int sqlcipherkit_unseal(const void *key, const void *nonce, const void *associated, size_t associated_count,
                        const void *sealed, size_t count, const void *tag, void *plain);

/* HMAC-SHA-512 (RFC 2104, FIPS 180-4): writes 64 bytes to `mac`. Returns an SQLite result code. */
int sqlcipherkit_mac(const void *key, size_t key_count, const void *bytes, size_t count, void *mac);

/* 1 if two areas of `count` bytes are equal, 0 if not, in a time that depends on `count` alone. */
int sqlcipherkit_equal(const void *a, const void *b, size_t count);
