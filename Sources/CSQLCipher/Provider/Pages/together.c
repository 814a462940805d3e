/* See together.h. */
#include "together.h"
#include "../../System/secure.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(pages_most == aes_many, "one page, one lane");

/* Fewer than these take no less time than one after the other. */
enum { least_together = 3 };

static uint8_t *plaintext_at(const struct sqlcipherkit_together *together, uint32_t index) {
    return together->plaintexts + index * together->pages.room;
}

/* The page is not prepared any more: no number stands for it. Page 0 does not exist. */
static void forget_page(struct sqlcipherkit_together *together, uint32_t index) {
    together->pages.numbers[index] = 0;
    sqlcipherkit_wipe(plaintext_at(together, index), together->pages.room);
}

void sqlcipherkit_together_forget(struct sqlcipherkit_together *together) {
    const uint32_t in_use = together->offered > together->pages.count ? together->offered : together->pages.count;
    for (uint32_t i = 0; i < in_use; i++) {
        if (together->pages.numbers[i] != 0) {
            forget_page(together, i);
        }
    }
    together->offered = 0;
    together->pages.count = 0;
}

void sqlcipherkit_together_free(struct sqlcipherkit_together *together) {
    sqlcipherkit_together_forget(together);
    sqlcipherkit_pages_free(&together->pages);
    free(together->plaintexts);
    together->plaintexts = NULL;
}

int sqlcipherkit_together_begin(struct sqlcipherkit_together *together, struct sqlcipherkit_kernels kernels,
                                uint32_t number, const uint8_t *bytes, size_t size) {
    together->run = number == together->number + 1 ? together->run + 1 : 1;
    together->number = number;
    together->bytes = bytes;
    together->size = size;
    const uint32_t index = sqlcipherkit_pages_find(&together->pages, number);
    if (index < together->pages.count) {
        if (together->pages.size == size + aes_block_size && memcmp(bytes, plaintext_at(together, index), size) == 0) {
            return 0;
        }
        forget_page(together, index);
    }
    return sqlcipherkit_kernels_have_many(kernels);
}

/* Makes room for pages of the size that was begun. Returns 0, or -1 without memory. */
static int reserve(struct sqlcipherkit_together *together) {
    const size_t before = together->pages.room;
    const size_t room = together->size + aes_block_size;
    sqlcipherkit_together_forget(together);
    if (sqlcipherkit_pages_reserve(&together->pages, room) != 0) {
        return -1;
    }
    if (before != room || together->plaintexts == NULL) {
        free(together->plaintexts);
        together->plaintexts = malloc(pages_most * room);
    }
    return together->plaintexts == NULL ? -1 : 0;
}

static void add(struct sqlcipherkit_together *together, uint32_t number, const uint8_t *bytes) {
    together->pages.numbers[together->offered] = number;
    memcpy(plaintext_at(together, together->offered), bytes, together->size);
    together->offered++;
}

int sqlcipherkit_together_offer(struct sqlcipherkit_together *together, uint32_t number, const uint8_t *bytes) {
    if (together->offered == 0) {
        if (reserve(together) != 0) {
            return 0;
        }
        add(together, together->number, together->bytes);
    }
    add(together, number, bytes);
    return together->offered < pages_most;
}

void sqlcipherkit_together_end(struct sqlcipherkit_together *together) {
    const uint32_t index = sqlcipherkit_pages_find(&together->pages, together->number);
    if (index < together->pages.count) {
        forget_page(together, index);
    } else if (together->offered > 0) {
        sqlcipherkit_together_forget(together);
    }
    together->bytes = NULL;
}

int sqlcipherkit_together_vector(const struct sqlcipherkit_together *together, uint8_t *out, size_t size) {
    const struct sqlcipherkit_pages *pages = &together->pages;
    const uint32_t index = sqlcipherkit_pages_find(pages, together->number);
    if (together->bytes == NULL || index == pages->count || size != aes_block_size + sha512_digest_size) {
        return 0;
    }
    memset(out, 0, size);
    memcpy(out, sqlcipherkit_pages_at(pages, index) + together->size, aes_block_size);
    return 1;
}

int sqlcipherkit_together_concerns(const struct sqlcipherkit_together *together, const uint8_t *in, size_t size,
                                   const uint8_t *iv, const uint8_t *out) {
    return together->bytes != NULL && together->bytes == in && together->size == size && iv == out + size;
}

/* Encrypts all pages on offer, the first with the given initialisation vector. Returns whether it did. */
static int prepare(struct sqlcipherkit_together *together, const struct sqlcipherkit_aes_kernel *kernel,
                   const struct sqlcipherkit_aes_schedule *schedule, int cipher_slot, const uint8_t *iv) {
    struct sqlcipherkit_pages *pages = &together->pages;
    const size_t size = together->size;
    const uint8_t *in[pages_most];
    uint8_t *out[pages_most];
    uint8_t ivs[pages_most][aes_block_size];
    if (sqlcipherkit_system_random(ivs[1], (together->offered - 1) * sizeof ivs[1]) != 0) {
        return 0;
    }
    memcpy(ivs[0], iv, sizeof ivs[0]);
    for (uint32_t i = 0; i < pages_most; i++) {
        /* Lanes without a page repeat the first one. */
        const uint32_t index = i < together->offered ? i : 0;
        in[i] = plaintext_at(together, index);
        out[i] = sqlcipherkit_pages_at(pages, index);
        memcpy(out[i] + size, ivs[index], sizeof ivs[index]);
    }
    kernel->encrypt_cbc_many(schedule, in, size, out);
    pages->size = size + aes_block_size;
    pages->count = together->offered;
    pages->mac_slot = -1;
    together->offered = 0;
    together->cipher_slot = cipher_slot;
    return 1;
}

int sqlcipherkit_together_encrypt(struct sqlcipherkit_together *together, const struct sqlcipherkit_aes_kernel *kernel,
                                  const struct sqlcipherkit_aes_schedule *schedule, int cipher_slot, uint8_t *out) {
    const struct sqlcipherkit_pages *pages = &together->pages;
    uint32_t index = sqlcipherkit_pages_find(pages, together->number);
    if (index == pages->count) {
        if (cipher_slot < 0 || together->offered < least_together || kernel->encrypt_cbc_many == NULL ||
            !prepare(together, kernel, schedule, cipher_slot, out + together->size)) {
            return 0;
        }
        index = 0;
    }
    if (together->cipher_slot != cipher_slot) {
        return 0;
    }
    memcpy(out, sqlcipherkit_pages_at(pages, index), pages->size);
    return 1;
}

int sqlcipherkit_together_mac(struct sqlcipherkit_together *together, const struct sqlcipherkit_sha512_kernel *kernel,
                              const struct sqlcipherkit_sha512_pads *pads, int mac_slot, uint32_t number,
                              const uint8_t *in, size_t size, uint8_t mac[64]) {
    struct sqlcipherkit_pages *pages = &together->pages;
    if (sqlcipherkit_pages_find(pages, number) == pages->count || mac_slot < 0) {
        return 0;
    }
    if (pages->mac_slot < 0 && kernel->compress_many != NULL) {
        sqlcipherkit_pages_authenticate(pages, kernel, pads, mac_slot);
        sqlcipherkit_wipe_stack();
    }
    return sqlcipherkit_pages_mac(pages, mac_slot, number, in, size, mac);
}
