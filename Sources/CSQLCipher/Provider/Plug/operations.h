/* The provider's functions as SQLCipher calls them, but without SQLCipher's types. Plug/plug.h and the test hooks both call these.
 * All return 0, or -1 on error. Sizes are checked here.
 */
#pragma once

#include "state.h"

/* AES-256-CBC without padding: `size` a multiple of 16 bytes, `key_size` 32. `state` may be NULL. */
int sqlcipherkit_cipher(struct sqlcipherkit_state *state, struct sqlcipherkit_kernels kernels, int encrypt,
                        const uint8_t *key, size_t key_size, const uint8_t iv[16], const uint8_t *in, size_t size,
                        uint8_t *out);

/* Writes `size` bytes from the system's generator; for a page that is already encrypted, the vector that was drawn for it. */
int sqlcipherkit_random_bytes(struct sqlcipherkit_state *state, uint8_t *out, size_t size);

/* HMAC of `first` and `second` (NULL and 0 if there is none). Writes as many bytes as the algorithm gives. */
int sqlcipherkit_hmac(struct sqlcipherkit_state *state, struct sqlcipherkit_kernels kernels, int algorithm,
                      const uint8_t *key, size_t key_size, const uint8_t *first, size_t first_size,
                      const uint8_t *second, size_t second_size, uint8_t *mac);

/* PBKDF2, with at least one iteration. Also forgets the keys in `state`, as new ones will follow. */
int sqlcipherkit_pbkdf2(struct sqlcipherkit_state *state, struct sqlcipherkit_kernels kernels, int algorithm,
                        const uint8_t *password, size_t password_size, const uint8_t *salt, size_t salt_size,
                        uint32_t iterations, uint8_t *out, size_t size);
