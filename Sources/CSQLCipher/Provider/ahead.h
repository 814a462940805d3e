/* The HMACs of the pages after the one that is asked for.
 *
 * SQLite reads one page at a time, and one page's HMAC is a chain that leaves a wide CPU idle. When a connection reads
 * page after page, the next ones are read here as well and their HMACs computed side by side with the one that is due.
 * What was computed ahead counts for a page only if the bytes that SQLite then hands in are, all of them, those that were
 * hashed: whatever happens to the file in between, an HMAC is that of the bytes it is used for.
 */
#ifndef SQLCIPHERKIT_AHEAD_H
#define SQLCIPHERKIT_AHEAD_H

#include "sha512.h"

#include <sys/types.h>

/* What a connection's state keeps of it; zeros to begin with. */
struct sqlcipherkit_ahead {
    uint32_t last_page; /* the page that was read last */
    uint32_t run;       /* how many pages were read in order up to that one */
    int mac_slot;       /* whose key the MACs below are of */
    uint32_t first;     /* number of the first page kept */
    uint32_t count;     /* how many are kept */
    size_t size;        /* bytes of each that were hashed */
    uint8_t *pages;     /* their bytes: ciphertext; sha512_many pages, and behind them as many MACs */
    size_t page_size;   /* that there is room for; 0 when `pages` is NULL */
};

/* Forgets what was computed. */
void sqlcipherkit_ahead_forget(struct sqlcipherkit_ahead *ahead);

/* Frees what is kept. */
void sqlcipherkit_ahead_free(struct sqlcipherkit_ahead *ahead);

/* Writes the HMAC-SHA512 of `page` (`size` bytes at `in`, then the 4 bytes of its number at `number`, little endian) to
 * `mac` and returns 1 if it is kept or if this is the time to compute some ahead; else returns 0. `pads` are those of the
 * key in `mac_slot`. */
int sqlcipherkit_ahead_mac(struct sqlcipherkit_ahead *ahead, const struct sqlcipherkit_sha512_kernel *kernel,
                           const struct sqlcipherkit_sha512_pads *pads, int mac_slot, const uint8_t *in, size_t size,
                           const uint8_t number[4], uint8_t mac[64]);

/* pread(2), remembered for the thread: what was read last, and where to. SQLite's file layer calls this in its place, so
 * that a page that is handed in can be told from any other memory, and its successors found. */
ssize_t sqlcipherkit_noted_pread(int file, void *bytes, size_t size, off_t offset);

#endif
