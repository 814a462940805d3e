/* The provider's state for each connection: expanded keys and pads, so that a page needs no key setup.
 *
 * A connection uses at most two keys of each kind: its own and, during a rekey, the next one. So there are two slots for AES
 * schedules and two for HMAC pads, which are found by comparing keys; a new key replaces the one that was used least recently.
 * Their memory is locked and, between calls, masked with random bytes that are kept elsewhere. A slot that is idle while others are
 * used is wiped, which removes the old key after a rekey; all slots are wiped when a key is derived and at the end.
 *
 * One thread at a time may use a state, as with the connection it belongs to.
 */
#pragma once

#include "../Kernels/kernels.h"
#include "../Primitives/small_hmac.h"
#include "../Pages/pipeline.h"

struct sqlcipherkit_state;

/* A new state, or NULL without memory or random bytes. */
struct sqlcipherkit_state *sqlcipherkit_state_create(void);

/* Wipes and frees; NULL is allowed. */
void sqlcipherkit_state_destroy(struct sqlcipherkit_state *state);

/* Wipes all slots, as their keys are about to change. */
void sqlcipherkit_state_forget(struct sqlcipherkit_state *state);

/* An AES key ready for use, unmasked. The caller has it on its stack, and wipes it. */
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

/* Writes the state of HMAC-SHA512 after the inner pad, for the key in `mac_slot`, to `words`. The caller wipes them. */
void sqlcipherkit_state_inner_pad(const struct sqlcipherkit_state *state, int mac_slot, uint64_t words[8]);

/* Returns the part of the state that is about pages being processed (Pages/pipeline.h). `state` is not NULL. */
struct sqlcipherkit_pipeline *sqlcipherkit_state_pipeline(struct sqlcipherkit_state *state);
