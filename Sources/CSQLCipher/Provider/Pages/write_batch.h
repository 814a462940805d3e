/* Pages that are written one after the other, encrypted and authenticated several at once.
 *
 * SQLCipher encrypts one page at a time, and a page's encryption in CBC mode and its HMAC are two chains that leave a wide
 * CPU idle. The pager, though, knows which pages it will write next: those that follow in its list. The codec
 * (Engine/codec.h) offers them here, and they are encrypted together with the present one. When a page's turn comes, its
 * ciphertext is taken from the batch if its bytes are still the ones that were encrypted, which a copy of them proves, and
 * the key is still the same. Each page has an initialisation vector of its own, drawn for it and used for nothing else.
 */
#pragma once

#include "../Kernels/kernels.h"
#include "page_batch.h"

/* One destination's batch, and the page that is on its way there. All zeros to begin with. */
struct sqlcipherkit_write_batch {
    uint32_t number;       /* of the page that is being written, or was last */
    const uint8_t *bytes;  /* its plaintext, which the pager owns; NULL between pages */
    size_t size;           /* how many bytes of it are encrypted */
    uint32_t run;          /* pages that came in order up to that one */
    uint32_t spills;       /* for the codec: how often the page cache had overflowed when it offered pages */
    int cipher_slot;       /* of the key that the batch is encrypted with, from batch_encrypted on */
    struct sqlcipherkit_page_batch batch;
    uint8_t *plaintexts;   /* of the batch's pages, batch.room bytes for each; wiped once the page has been written */
};

/* Wipes the plaintexts and empties the batch: what was prepared will be encrypted again when its turn comes. */
void sqlcipherkit_write_batch_drop(struct sqlcipherkit_write_batch *write);

/* Wipes and frees it. */
void sqlcipherkit_write_batch_free(struct sqlcipherkit_write_batch *write);

/* Begins the writing of page `number`, of which `size` bytes at `bytes` are to be encrypted. Returns whether it is worth
 * offering the pages that will be written next: not if the page is in the batch, or the kernels have no use for others. */
int sqlcipherkit_write_batch_begin(struct sqlcipherkit_write_batch *write, struct sqlcipherkit_kernels kernels,
                                   uint32_t number, const uint8_t *bytes, size_t size);

/* Offers a page of the same size: it is copied into a batch that begins with the page being written and takes the place of
 * the batch before. Returns whether there is room for more. */
int sqlcipherkit_write_batch_offer(struct sqlcipherkit_write_batch *write, uint32_t number, const uint8_t *bytes);

/* Ends the writing of the page, whether it succeeded or not: it leaves the batch, and its vector is never used again. */
void sqlcipherkit_write_batch_end(struct sqlcipherkit_write_batch *write);

/* If the page being written is in the batch, writes its initialisation vector, and zeros where the HMAC will be, to the
 * `size` bytes at `out` and returns 1; otherwise returns 0. */
int sqlcipherkit_write_batch_vector(const struct sqlcipherkit_write_batch *write, uint8_t *out, size_t size);

/* Writes the page's ciphertext and initialisation vector to `out` and returns 1 if it is in the batch, or if the pages
 * collected are enough to be encrypted now; otherwise returns 0. At `out` + `size` is the vector the page is to have;
 * `schedule` belongs to the key in `cipher_slot`. */
int sqlcipherkit_write_batch_encrypt(struct sqlcipherkit_write_batch *write, const struct sqlcipherkit_aes_kernel *kernel,
                                     const struct sqlcipherkit_aes_schedule *schedule, int cipher_slot, uint8_t *out);

/* Writes the HMAC-SHA512 of page `number` to `mac` and returns 1 if the batch has the page with those bytes, computing
 * all its HMACs if that has not been done; otherwise returns 0. `pads` are those of the key in `mac_slot`. */
int sqlcipherkit_write_batch_mac(struct sqlcipherkit_write_batch *write, const struct sqlcipherkit_sha512_kernel *kernel,
                                 const struct sqlcipherkit_sha512_pads *pads, int mac_slot, uint32_t number,
                                 const uint8_t *in, size_t size, uint8_t mac[64]);
