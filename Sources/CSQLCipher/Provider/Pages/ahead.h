/* The HMACs of the pages after the one that is asked for.
 *
 * SQLite reads one page at a time. When a connection reads page after page, the next ones are read here as well and their
 * HMACs computed side by side with the one that is due (known_pages.h).
 */
#ifndef SQLCIPHERKIT_AHEAD_H
#define SQLCIPHERKIT_AHEAD_H

#include "known_pages.h"

#include <sys/types.h>

/* What a connection's state keeps of it; zeros to begin with. */
struct sqlcipherkit_ahead {
    uint32_t last_page; /* the page that was read last */
    uint32_t run;       /* how many pages were read in order up to that one */
    struct sqlcipherkit_pages pages;
};

/* Forgets what was computed. */
void sqlcipherkit_ahead_forget(struct sqlcipherkit_ahead *ahead);

/* Writes the HMAC-SHA512 of page `number`, `size` bytes at `in` and the number's 4 bytes, to `mac` and returns 1 if it is
 * kept or if this is the time to compute some ahead; else returns 0. `pads` are those of the key in `mac_slot`. */
int sqlcipherkit_ahead_mac(struct sqlcipherkit_ahead *ahead, const struct sqlcipherkit_sha512_kernel *kernel,
                           const struct sqlcipherkit_sha512_pads *pads, int mac_slot, uint32_t number, const uint8_t *in,
                           size_t size, uint8_t mac[64]);

/* pread(2), remembered for the thread: what was read last, and where to. SQLite's file layer calls this in its place, so
 * that a page that is handed in can be told from any other memory, and its successors found. */
ssize_t sqlcipherkit_noted_pread(int file, void *bytes, size_t size, off_t offset);

#endif
