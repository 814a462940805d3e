/* A page's hash, begun while the page is encrypted.
 *
 * SQLCipher encrypts a page and then asks for the ciphertext's HMAC, in two calls. From the second page on it is known which
 * HMAC key follows an encryption with a given AES key, and so a stitched kernel can hash the ciphertext while it encrypts
 * (encrypt_and_compress in sha512.h). The midstate, the state of SHA-512 after the last whole block, is kept here until the
 * HMAC is asked for. It is used only if the bytes to authenticate are the ones that were hashed, which a copy of them proves.
 *
 * Why single pages have their own kernel: batches take the pages of every bulk write, 98 to 100% of them in the workloads insert,
 * fts-build, rekey and vacuum of scripts/bench, but a transaction of a single row writes one or two pages. Without the stitched
 * kernel the encryption and HMAC of such a page take 17 to 20% longer, and the transaction 5 to 13% more CPU time (updates and
 * inserts of one row, with a write-ahead log and a rollback journal, AVX2 and AVX-512; minima of 20 to 30 interleaved rounds).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The number of keys of each kind that a connection's state keeps ready: its own and, during a rekey, the next one. A slot is an
 * index below key_slots; no_slot means none. */
enum { key_slots = 2, no_slot = -1 };

/* All zeros at first; sqlcipherkit_midstate_drop_cipher() is called before the first use of a cipher slot. */
struct sqlcipherkit_midstate {
    int mac_slot_after[key_slots]; /* the MAC slot that authenticated what a cipher slot encrypted, or no_slot */
    const uint8_t *out;            /* the ciphertext whose HMAC is expected; NULL if none is */
    int cipher_slot;               /* the slot of the key that encrypted it */
    int mac_slot;                  /* the slot of the HMAC key that the words belong to */
    size_t hashed;                 /* the number of bytes at `out` that the words include; 0 if the page was only encrypted */
    uint64_t words[8];
    uint8_t *copy;                 /* of the bytes that were hashed: ciphertext, no secret */
    size_t capacity;
};

/* Allocates memory for a page of `size` bytes. Returns 0, or -1 without memory. */
int sqlcipherkit_midstate_reserve(struct sqlcipherkit_midstate *midstate, size_t size);

/* Keeps a midstate: `hashed` bytes at `out`, at most the number reserved, folded into `words`. With 0 bytes and NULL, only
 * remembers that the key in `cipher_slot` encrypted to `out`. */
void sqlcipherkit_midstate_keep(struct sqlcipherkit_midstate *midstate, int cipher_slot, const uint8_t *out, size_t hashed,
                                const uint64_t words[8]);

/* Called for an HMAC-SHA512 with the key in `mac_slot`. Returns how many of the `size` bytes at `in` are already hashed, and fills
 * `words` with the state after them, or returns 0. The midstate is wiped either way. */
size_t sqlcipherkit_midstate_take(struct sqlcipherkit_midstate *midstate, int mac_slot, const uint8_t *in, size_t size,
                                  uint64_t words[8]);

/* Wipes the midstate. */
void sqlcipherkit_midstate_drop(struct sqlcipherkit_midstate *midstate);

/* Call these when a slot is about to hold another key: wipes a midstate made with it, and forgets what is known about it. */
void sqlcipherkit_midstate_drop_cipher(struct sqlcipherkit_midstate *midstate, int cipher_slot);
void sqlcipherkit_midstate_drop_mac(struct sqlcipherkit_midstate *midstate, int mac_slot);
