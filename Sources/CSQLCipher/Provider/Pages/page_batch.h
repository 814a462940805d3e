/* Up to eight pages whose ciphertext and HMAC-SHA512 are computed side by side: one page's HMAC is a chain that leaves a
 * wide CPU idle, and eight take little longer than one.
 *
 * A batch's result is used for a page only if every byte that SQLCipher passes in equals the byte that was hashed. So whatever
 * happens between the two calls, an HMAC belongs to the bytes it is used for. PAGES.md describes the whole process.
 */
#pragma once

#include "../Kernels/sha512.h"

enum { batch_most = sha512_many, not_in_batch = -1 };

/* The stage of a batch. It moves down this list, and back to empty from any stage. */
enum sqlcipherkit_batch_stage {
    batch_empty,         /* zero: a new state is empty */
    batch_collecting,    /* write_batch.c: plaintexts are collected, nothing is encrypted */
    batch_encrypted,     /* each page has its ciphertext and initialisation vector */
    batch_authenticated, /* and each page's HMAC, with the key in `mac_slot` */
};

/* All zeros at first. */
struct sqlcipherkit_page_batch {
    enum sqlcipherkit_batch_stage stage;
    uint32_t count;
    uint32_t numbers[batch_most]; /* 0, which is no page's number, if the page has been used or dropped */
    int mac_slot;                 /* from batch_authenticated on */
    size_t size;                  /* of each page, what its HMAC covers: ciphertext and initialisation vector */
    size_t room;                  /* for each page; 0 when `bytes` is NULL */
    uint8_t *bytes;               /* batch_most pages, followed by as many HMACs */
};

/* Empties the batch and allocates memory for pages of `room` bytes. Returns 0, or -1 without memory. */
int sqlcipherkit_batch_reserve(struct sqlcipherkit_page_batch *batch, size_t room);

/* Empties the batch and frees its memory. */
void sqlcipherkit_batch_free(struct sqlcipherkit_page_batch *batch);

/* The bytes of the page with that index. */
static inline uint8_t *sqlcipherkit_batch_page(const struct sqlcipherkit_page_batch *batch, int index) {
    return batch->bytes + (size_t)index * batch->room;
}

/* The index of the page with that number, once it is encrypted; otherwise not_in_batch. */
int sqlcipherkit_batch_find(const struct sqlcipherkit_page_batch *batch, uint32_t number);

/* From batch_encrypted to batch_authenticated: computes the HMACs of all pages with the key in `mac_slot`, whose pads are
 * `pads`, over `size` bytes of each and its number, little endian. The kernel must have compress_many. The caller wipes
 * the stack. */
void sqlcipherkit_batch_authenticate(struct sqlcipherkit_page_batch *batch, const struct sqlcipherkit_sha512_kernel *kernel,
                                     const struct sqlcipherkit_sha512_pads *pads, int mac_slot);

/* Writes the HMAC of page `number` to `mac` and returns 1 if it was computed with the key in `mac_slot` over the `size`
 * bytes at `in`; otherwise returns 0. */
int sqlcipherkit_batch_mac(const struct sqlcipherkit_page_batch *batch, int mac_slot, uint32_t number, const uint8_t *in,
                           size_t size, uint8_t mac[64]);
