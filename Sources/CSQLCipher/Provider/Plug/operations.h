/* The provider's functions as SQLCipher asks for them, without SQLCipher's types: the glue of Plug/plug.h and the
 * test hooks both stand on these. All return 0, or -1 on error. Sizes are checked here.
 */
#pragma once

#include "state.h"

/* AES-256-CBC without padding: `size` a multiple of 16 bytes, `key_size` 32. `state` may be NULL. */
int sqlcipherkit_cipher(struct sqlcipherkit_state *state, struct sqlcipherkit_kernels kernels, int encrypt,
                        const uint8_t *key, size_t key_size, const uint8_t iv[16], const uint8_t *in, size_t size,
                        uint8_t *out);

/* `size` bytes of the system's generator; for a page that is encrypted already, the vector drawn then. */
int sqlcipherkit_random_bytes(struct sqlcipherkit_state *state, uint8_t *out, size_t size);

/* HMAC of `first` and `second` (NULL with size 0, when there is none). Writes as many bytes as the algorithm gives. */
int sqlcipherkit_hmac(struct sqlcipherkit_state *state, struct sqlcipherkit_kernels kernels, int algorithm,
                      const uint8_t *key, size_t key_size, const uint8_t *first, size_t first_size,
                      const uint8_t *second, size_t second_size, uint8_t *mac);

/* PBKDF2. At least one iteration. Forgets the keys that `state` keeps: new ones are about to come. */
int sqlcipherkit_pbkdf2(struct sqlcipherkit_state *state, struct sqlcipherkit_kernels kernels, int algorithm,
                        const uint8_t *password, size_t password_size, const uint8_t *salt, size_t salt_size,
                        uint32_t iterations, uint8_t *out, size_t size);
