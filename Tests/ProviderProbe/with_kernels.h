/* The provider's primitives and what a connection makes of them, with chosen kernels. */
#ifndef PROVIDER_PROBE_WITH_KERNELS_H
#define PROVIDER_PROBE_WITH_KERNELS_H

#include "../../Sources/CSQLCipher/Provider/Plug/operations.h"

/* One primitive, run with the kernels that `features` gives (those that the CPU lacks are left out) and
 * without changing what connections use. They return 0, or -1 for an unknown algorithm or a size that is not allowed. */

/* SHA-512 (FIPS 180-4) of `size` bytes. */
int probe_sha512(unsigned features, const uint8_t *data, size_t size, uint8_t digest[64]);

/* HMAC (RFC 2104) of `first` followed by `second`, which may be NULL; writes 20, 32 or 64 bytes. */
int probe_hmac(unsigned features, int algorithm, const uint8_t *key, size_t key_size,
               const uint8_t *first, size_t first_size, const uint8_t *second, size_t second_size,
               uint8_t *mac);

/* PBKDF2 (RFC 8018) with that HMAC; writes `size` bytes. */
int probe_pbkdf2(unsigned features, int algorithm, const uint8_t *password, size_t password_size,
                 const uint8_t *salt, size_t salt_size, uint32_t iterations, uint8_t *out, size_t size);

/* AES-256 in CBC mode (FIPS 197, SP 800-38A), no padding: `size` is a multiple of 16. `out` may be `in`. */
int probe_aes_cbc(unsigned features, int encrypt, const uint8_t key[32], const uint8_t iv[16],
                  const uint8_t *in, size_t size, uint8_t *out);

/* The work of a connection: `pages` pages of `size` bytes at `in` are encrypted to `out`, one after the other, in one
 * connection's state, each with the initialisation vector at `ivs` + 16 × its index, and then authenticated with
 * HMAC-SHA512 (key of 32 bytes) over the ciphertext and the 4 bytes of the page's index, little endian; 64 bytes each at
 * `macs`. Between the two, `meddle` is called (unless NULL) with the ciphertext, and may change it: the HMAC must be that
 * of the changed bytes. */
int probe_pages(unsigned features, const uint8_t key[32], const uint8_t mac_key[32], const uint8_t *ivs,
                const uint8_t *in, size_t size, size_t pages, uint8_t *out, uint8_t *macs,
                void (*meddle)(uint8_t *page, size_t size));

/* The work of a connection that writes many pages in a row: page i of `pages`, `size` bytes at `in` + i × `size`, becomes
 * `size` + 80 bytes at `out`: ciphertext, the initialisation vector that it was given, and the HMAC-SHA512 of both and of
 * the page's number, i + 2. Each page offers those after it. Before each, `meddle` (unless NULL) may change the page and
 * those after it. Sets `prepared` to the number of pages that were encrypted in the batch of a page before them. */
int probe_write_batch(unsigned features, const uint8_t key[32], const uint8_t mac_key[32], uint8_t *in,
                      size_t size, size_t pages, uint8_t *out,
                      void (*meddle)(uint8_t *in, size_t size, size_t pages, size_t next), size_t *prepared);

#endif
