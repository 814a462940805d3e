/* Encrypts and authenticates several pages at once that are written one after the other.
 *
 * SQLCipher encrypts one page at a time, and a page's encryption in CBC mode and its HMAC are two chains that leave a wide CPU
 * idle. But the pager knows which pages it will write next: those that follow in its list. The codec (Engine/codec.h) offers them
 * here, and they are encrypted together with the current page. When a page's turn comes, its ciphertext is taken from the batch if
 * its bytes are still those that were encrypted, which a copy of them proves, and if the key is still the same. Each page has its
 * own initialisation vector, drawn for it and used for nothing else.
 */
#pragma once

#include "../Kernels/kernels.h"
#include "page_batch.h"

/* One destination's batch, and the page that is being written to it. All zeros at first. */
struct sqlcipherkit_write_batch {
    uint32_t number;       /* of the page that is being written, or was last */
    const uint8_t *bytes;  /* its plaintext, which the pager owns; NULL between pages */
    size_t size;           /* the number of its bytes that are encrypted */
    uint32_t run;          /* pages that came in order up to that one */
    uint32_t spills;       /* for the codec: how often the page cache had overflowed when it offered pages */
    int cipher_slot;       /* of the key that the batch is encrypted with, from batch_encrypted on */
    struct sqlcipherkit_page_batch batch;
    uint8_t *plaintexts;   /* of the batch's pages, batch.room bytes for each; wiped once the page has been written */
};

/* Wipes the plaintexts and empties the batch. Its pages will be encrypted again when their turn comes. */
void sqlcipherkit_write_batch_drop(struct sqlcipherkit_write_batch *write);

/* Wipes and frees it. */
void sqlcipherkit_write_batch_free(struct sqlcipherkit_write_batch *write);

/* Begins to write page `number`, of which the `size` bytes at `bytes` will be encrypted. Returns whether the pages that will be
 * written next should be offered: not if the page is in the batch, or if the kernels cannot use them. */
int sqlcipherkit_write_batch_begin(struct sqlcipherkit_write_batch *write, struct sqlcipherkit_kernels kernels,
                                   uint32_t number, const uint8_t *bytes, size_t size);

/* Offers a page of the same size. It is copied into a batch that begins with the page being written and replaces the previous
 * batch. Returns whether there is room for more. */
int sqlcipherkit_write_batch_offer(struct sqlcipherkit_write_batch *write, uint32_t number, const uint8_t *bytes);

/* Ends the writing of the page, whether it succeeded or not: it leaves the batch, and its vector is never used again. */
void sqlcipherkit_write_batch_end(struct sqlcipherkit_write_batch *write);

/* If the page being written is in the batch, writes its initialisation vector, and zeros where the HMAC will be, to the `size`
 * bytes at `out`, and returns 1; otherwise returns 0. */
int sqlcipherkit_write_batch_vector(const struct sqlcipherkit_write_batch *write, uint8_t *out, size_t size);

/* If the page is in the batch, or if enough pages are collected to encrypt them now, writes its ciphertext and initialisation
 * vector to `out` and returns 1; otherwise returns 0. The vector for the page is at `out` + `size`; `schedule` belongs to the key
 * in `cipher_slot`. */
int sqlcipherkit_write_batch_encrypt(struct sqlcipherkit_write_batch *write, const struct sqlcipherkit_aes_kernel *kernel,
                                     const struct sqlcipherkit_aes_schedule *schedule, int cipher_slot, uint8_t *out);

/* If the batch has page `number` with those bytes, writes its HMAC-SHA512 to `mac` and returns 1, computing all of the batch's
 * HMACs if that has not been done; otherwise returns 0. `pads` are those of the key in `mac_slot`. */
int sqlcipherkit_write_batch_mac(struct sqlcipherkit_write_batch *write, const struct sqlcipherkit_sha512_kernel *kernel,
                                 const struct sqlcipherkit_sha512_pads *pads, int mac_slot, uint32_t number,
                                 const uint8_t *in, size_t size, uint8_t mac[64]);
