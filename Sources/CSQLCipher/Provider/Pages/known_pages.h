/* A few pages whose ciphertext and HMAC-SHA512 are known, because they were computed side by side: one page's HMAC is a
 * chain that leaves a wide CPU idle, eight take little longer than one.
 *
 * What is kept here counts for a page only if the bytes that SQLCipher hands in are, all of them, those that were hashed:
 * whatever happens in between, an HMAC is that of the bytes it is used for.
 */
#ifndef SQLCIPHERKIT_KNOWN_PAGES_H
#define SQLCIPHERKIT_KNOWN_PAGES_H

#include "../Kernels/sha512.h"

enum { pages_most = sha512_many };

/* Zeros to begin with. */
struct sqlcipherkit_pages {
    uint32_t count;
    uint32_t numbers[pages_most];
    int mac_slot;   /* whose key the MACs are of; below 0 while there are none */
    size_t size;    /* bytes of each that the MACs are of: ciphertext and initialisation vector */
    size_t room;    /* for each page; 0 when `bytes` is NULL */
    uint8_t *bytes; /* pages_most pages, and behind them as many MACs */
};

/* Forgets all pages and makes room for pages of `room` bytes. Returns 0, or -1 without memory. */
int sqlcipherkit_pages_reserve(struct sqlcipherkit_pages *pages, size_t room);

/* Frees what is kept. */
void sqlcipherkit_pages_free(struct sqlcipherkit_pages *pages);

/* The place of the page with that index. */
static inline uint8_t *sqlcipherkit_pages_at(const struct sqlcipherkit_pages *pages, uint32_t index) {
    return pages->bytes + index * pages->room;
}

/* The index of the page with that number, or `count`. */
uint32_t sqlcipherkit_pages_find(const struct sqlcipherkit_pages *pages, uint32_t number);

/* Computes the MACs of all pages with the key in `mac_slot`, whose pads are `pads`: of `size` bytes each and the page's
 * number, little endian. The kernel must have compress_many. The caller wipes the stack. */
void sqlcipherkit_pages_authenticate(struct sqlcipherkit_pages *pages, const struct sqlcipherkit_sha512_kernel *kernel,
                                     const struct sqlcipherkit_sha512_pads *pads, int mac_slot);

/* Writes the MAC of page `number` to `mac` and returns 1 if it is known with the key of that slot and its bytes are those
 * at `in`; else returns 0. */
int sqlcipherkit_pages_mac(const struct sqlcipherkit_pages *pages, int mac_slot, uint32_t number, const uint8_t *in,
                           size_t size, uint8_t mac[64]);

#endif
