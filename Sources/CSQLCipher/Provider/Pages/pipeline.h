/* The path of a page through the provider: this one place decides, for each page that SQLCipher encrypts or authenticates, whether
 * the work is already done, is done now for several pages at once, or is done for this page alone. PAGES.md describes each state,
 * what ends it, and why nothing stale is ever written.
 *
 * A page being written goes through begin, offer (any number of times), vector, encrypt, authenticate and end, in that order;
 * a page being read, through authenticate alone. One thread at a time, as with the connection.
 */
#pragma once

#include "midstate.h"
#include "read_ahead.h"
#include "write_batch.h"

struct sqlcipherkit_state;
struct sqlcipherkit_ready_cipher;
struct sqlcipherkit_ready_mac;

/* The destination of a page: changed pages go to the database or its write-ahead log, originals to the rollback journal. The two
 * have different orders and, during a rekey, different keys, and so each has its own batch. */
enum sqlcipherkit_destination { to_database, to_journal, destinations };

/* The part of a connection's state that is about pages. All zeros at first. */
struct sqlcipherkit_pipeline {
    struct sqlcipherkit_write_batch *writing; /* the batch that the page being written goes through; NULL between pages */
    struct sqlcipherkit_write_batch batches[destinations];
    struct sqlcipherkit_read_ahead read_ahead;
    struct sqlcipherkit_midstate midstate;
};

/* Wipes and frees it. */
void sqlcipherkit_pipeline_free(struct sqlcipherkit_pipeline *pipeline);

/* The slot is about to hold another key: drops everything that was computed with it. */
void sqlcipherkit_pipeline_drop_cipher(struct sqlcipherkit_pipeline *pipeline, int cipher_slot);
void sqlcipherkit_pipeline_drop_mac(struct sqlcipherkit_pipeline *pipeline, int mac_slot);

/* Begins to write page `number`, of which the `size` bytes at `bytes` will be encrypted. Returns the batch to which the pages that
 * will be written next should be offered (sqlcipherkit_write_batch_offer), or NULL if offering them does not pay. */
struct sqlcipherkit_write_batch *sqlcipherkit_pipeline_begin(struct sqlcipherkit_pipeline *pipeline,
                                                          enum sqlcipherkit_destination destination,
                                                          struct sqlcipherkit_kernels kernels, uint32_t number,
                                                          const uint8_t *bytes, size_t size);

/* Ends the writing of that page, whether it succeeded or not. */
void sqlcipherkit_pipeline_end(struct sqlcipherkit_pipeline *pipeline);

/* If the page being written is already encrypted, fills the `size` bytes at `out` with its initialisation vector and zeros and
 * returns 1; otherwise returns 0, and the caller draws a vector. */
int sqlcipherkit_pipeline_vector(const struct sqlcipherkit_pipeline *pipeline, uint8_t *out, size_t size);

/* Encrypts `size` bytes from `in` to `out` with AES-256-CBC. For the page being written, the vector at `iv`, right after the
 * ciphertext, may be replaced by the vector of the ciphertext as it was read. `ready` is the encryption schedule of `key`, from
 * `state`. */
void sqlcipherkit_pipeline_encrypt(struct sqlcipherkit_state *state, struct sqlcipherkit_kernels kernels, const uint8_t *key,
                                const struct sqlcipherkit_ready_cipher *ready, const uint8_t iv[16], const uint8_t *in,
                                size_t size, uint8_t *out);

/* Computes HMAC-SHA512 of `first` and `second`; that of a page ends with its number in 4 bytes. `ready` has the key's pads, from
 * `state`. */
void sqlcipherkit_pipeline_authenticate(struct sqlcipherkit_state *state, struct sqlcipherkit_kernels kernels,
                                     const struct sqlcipherkit_ready_mac *ready, const uint8_t *first, size_t first_size,
                                     const uint8_t *second, size_t second_size, uint8_t mac[64]);
