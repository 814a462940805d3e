/* Pages that are written in a row, encrypted and authenticated several at once.
 *
 * SQLCipher encrypts one page at a time, and a page's encryption in CBC mode and its HMAC are two chains that leave a wide
 * CPU idle. The pager, though, knows which pages it will write next: those behind the present one in its list. The codec
 * (Engine/codec.h) offers them here, and they are encrypted with that one; when their turn comes, what was prepared is
 * used if their bytes are still the ones that were encrypted, which a copy of them proves, and the key is still the same.
 * Each has an initialisation vector of its own, drawn for it and used for nothing else.
 *
 * There are two ways out, each with a key, an order and so a structure of its own: changed pages go to the database or its
 * log, and what stood there before goes to the rollback journal. Such an original need not be encrypted at all where its
 * ciphertext is still at hand from reading it (ahead.h).
 */
#ifndef SQLCIPHERKIT_TOGETHER_H
#define SQLCIPHERKIT_TOGETHER_H

#include "../Kernels/kernels.h"
#include "known_pages.h"

/* What a connection's state keeps of it for one way out; zeros to begin with. */
struct sqlcipherkit_together {
    uint32_t number;                 /* of the page that is being encrypted, or was last */
    const uint8_t *bytes;            /* its plaintext, in the pager's hands; NULL while none is being encrypted */
    size_t size;                     /* how many bytes of it are encrypted */
    uint32_t run;                    /* pages that came in order up to that one */
    uint32_t spills;                 /* for the codec: how often the page cache had overflowed when it offered pages */
    uint32_t offered;                /* pages to be prepared, with that one in front; 0 if there are none to go with it */
    int cipher_slot;                 /* of the key that `pages` are encrypted with */
    struct sqlcipherkit_pages pages; /* what is prepared */
    uint8_t *plaintexts;             /* of what: pages_most times pages.room, each wiped once it has served */
};

/* Wipes and forgets what is prepared. */
void sqlcipherkit_together_forget(struct sqlcipherkit_together *together);

/* Wipes and frees it. */
void sqlcipherkit_together_free(struct sqlcipherkit_together *together);

/* Begins the encryption of page `number`, of which `size` bytes at `bytes` are to be encrypted. Returns whether it is
 * worth offering the pages that will be written next. */
int sqlcipherkit_together_begin(struct sqlcipherkit_together *together, struct sqlcipherkit_kernels kernels,
                                uint32_t number, const uint8_t *bytes, size_t size);

/* Offers a page, of the same size. Returns whether there is room for more. */
int sqlcipherkit_together_offer(struct sqlcipherkit_together *together, uint32_t number, const uint8_t *bytes);

/* The page has been encrypted. */
void sqlcipherkit_together_end(struct sqlcipherkit_together *together);

/* Writes the initialisation vector of the page that was begun, and zeros behind it where the HMAC will stand, to the `size`
 * bytes at `out` and returns 1 if the page is prepared; else returns 0. */
int sqlcipherkit_together_vector(const struct sqlcipherkit_together *together, uint8_t *out, size_t size);

/* Whether `in` is the page that was begun, to be encrypted to `out` with the initialisation vector right behind it. */
int sqlcipherkit_together_concerns(const struct sqlcipherkit_together *together, const uint8_t *in, size_t size,
                                   const uint8_t *iv, const uint8_t *out);

/* Writes the page's ciphertext and initialisation vector to `out` and returns 1 if they are prepared or if there are
 * enough pages to prepare; else returns 0. `schedule` is that of the key in `cipher_slot`. */
int sqlcipherkit_together_encrypt(struct sqlcipherkit_together *together, const struct sqlcipherkit_aes_kernel *kernel,
                                  const struct sqlcipherkit_aes_schedule *schedule, int cipher_slot, uint8_t *out);

/* Writes the HMAC-SHA512 of page `number` to `mac` and returns 1 if the page is one of those prepared; else returns 0.
 * `pads` are those of the key in `mac_slot`. */
int sqlcipherkit_together_mac(struct sqlcipherkit_together *together, const struct sqlcipherkit_sha512_kernel *kernel,
                              const struct sqlcipherkit_sha512_pads *pads, int mac_slot, uint32_t number,
                              const uint8_t *in, size_t size, uint8_t mac[64]);

#endif
