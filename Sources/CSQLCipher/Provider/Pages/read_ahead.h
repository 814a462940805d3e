/* Computes the HMACs of the pages after the one that is being read.
 *
 * SQLite reads one page at a time. When a connection reads pages in order, the following pages are read here as well, and their
 * HMACs are computed side by side with the one that is due (page_batch.h).
 */
#pragma once

#include "page_batch.h"

#include <sys/types.h>

/* All zeros at first. */
struct sqlcipherkit_read_ahead {
    uint32_t last_page; /* the page that was read last */
    uint32_t run;       /* the number of pages read in order up to that page */
    struct sqlcipherkit_page_batch batch; /* empty or authenticated; ciphertext, so nothing in it is secret */
};

/* Empties the batch and forgets the run. */
void sqlcipherkit_read_ahead_drop(struct sqlcipherkit_read_ahead *ahead);

/* If the HMAC-SHA512 of page `number` (`size` bytes at `in` and the number's 4 bytes) is known, or a run of pages makes it pay to
 * compute several, writes it to `mac` and returns 1; otherwise returns 0. `pads` belong to the key in `mac_slot`. */
int sqlcipherkit_read_ahead_mac(struct sqlcipherkit_read_ahead *ahead, const struct sqlcipherkit_sha512_kernel *kernel,
                                const struct sqlcipherkit_sha512_pads *pads, int mac_slot, uint32_t number,
                                const uint8_t *in, size_t size, uint8_t mac[64]);

/* pread(2) that also notes for this thread what was read last, and to which address. SQLite's file layer calls it in place of
 * pread(), so that a page that has just been read can be recognised, and the pages after it found. */
ssize_t sqlcipherkit_noted_pread(int file, void *bytes, size_t size, off_t offset);
