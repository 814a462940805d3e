/* What the provider keeps for each connection: expanded keys and pads, so that a page costs no key setup.
 *
 * A connection uses two keys of each kind at most: its own, and in the midst of a rekey the next one. So there are two
 * slots for AES schedules and two for HMAC pads, found by comparing keys, the older one giving way. Their memory is
 * locked and, between calls, masked with random bytes that are kept elsewhere. A slot that lies idle while others are
 * used is wiped, which is how the old key goes after a rekey; all are wiped when a key is derived and at the end.
 *
 * One thread at a time may use a state, as with the connection it belongs to.
 */
#ifndef SQLCIPHERKIT_STATE_H
#define SQLCIPHERKIT_STATE_H

#include "../Pages/ahead.h"
#include "../Kernels/kernels.h"
#include "../Kernels/ltc_hash.h"
#include "../Pages/together.h"

struct sqlcipherkit_state;

/* A new state, or NULL without memory or random bytes. */
struct sqlcipherkit_state *sqlcipherkit_state_create(void);

/* Wipes and frees; NULL is allowed. */
void sqlcipherkit_state_destroy(struct sqlcipherkit_state *state);

/* Wipes all slots: the keys in them are about to change. */
void sqlcipherkit_state_forget(struct sqlcipherkit_state *state);

/* An AES key ready for use, in clear. The caller owns it, on its stack, and wipes it. */
struct sqlcipherkit_ready_cipher {
    struct sqlcipherkit_aes_schedule schedule;
    int slot;
};

/* Fills one half of `ready->schedule` with the expanded `key` for that kernel, from a slot or, if there is none yet, by
 * expanding it into one. `state` may be NULL. Returns 0, or -1 if the kernel refuses the key. */
int sqlcipherkit_state_cipher(struct sqlcipherkit_state *state, const struct sqlcipherkit_aes_kernel *kernel,
                              const uint8_t key[32], int encrypt, struct sqlcipherkit_ready_cipher *ready);

/* The pads of an HMAC key ready for use, likewise. */
struct sqlcipherkit_ready_mac {
    union {
        struct sqlcipherkit_sha512_pads sha512;
        struct sqlcipherkit_small_pads small;
    } pads;
    int slot;
};

/* Fills `ready` with the pads of `key`, of any size, for an algorithm of provider.h. `state` may be NULL; keys of more
 * than 64 bytes, which SQLCipher never has, are not kept. */
void sqlcipherkit_state_mac(struct sqlcipherkit_state *state, const struct sqlcipherkit_sha512_kernel *kernel,
                            int algorithm, const uint8_t *key, size_t key_size, struct sqlcipherkit_ready_mac *ready);

/* Encryption and HMAC in one pass.
 *
 * SQLCipher encrypts a page and then asks for the ciphertext's HMAC, in two calls. From the second page on a state knows
 * which HMAC key follows an encryption with a given AES key, and so can begin the hash while it encrypts. What was begun
 * is used only if the bytes to authenticate turn out to be those that were hashed, which a copy of them proves. */

/* If an HMAC-SHA512 key is known to follow `slot` of the ciphers: fills `state_words` with the state after the inner pad
 * and returns 1, else 0. `size` is the page's. */
int sqlcipherkit_state_foresee(struct sqlcipherkit_state *state, int slot, size_t size, uint64_t state_words[8]);

/* Keeps what was begun: `hashed` bytes at `out`, folded into `state_words`. With 0 bytes, only remembers that `slot`
 * encrypted to `out`. */
void sqlcipherkit_state_begun(struct sqlcipherkit_state *state, int slot, const uint8_t *out, size_t hashed,
                              const uint64_t state_words[8]);

/* What is computed ahead of a sequential reader (ahead.h). `state` is not NULL. */
struct sqlcipherkit_ahead *sqlcipherkit_state_ahead(struct sqlcipherkit_state *state);

/* Where pages are on their way to (together.h). */
enum sqlcipherkit_way { way_to_database, way_to_journal, ways };
struct sqlcipherkit_together *sqlcipherkit_state_together(struct sqlcipherkit_state *state, enum sqlcipherkit_way way);

/* Called for each HMAC-SHA512 of a page, with the MAC slot in use: returns how many bytes of `in` are hashed already, and
 * fills `state_words` with the state after them, or returns 0. What was begun is forgotten either way. */
size_t sqlcipherkit_state_resume(struct sqlcipherkit_state *state, int mac_slot, const uint8_t *in, size_t size,
                                 uint64_t state_words[8]);

#endif
