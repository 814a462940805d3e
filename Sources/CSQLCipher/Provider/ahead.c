/* See ahead.h. */
#ifdef __linux__
#define _DEFAULT_SOURCE 1
#endif

#include "ahead.h"
#include "secure.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    /* Pages in order before it is taken for a scan. */
    least_run = 3,
    least_size = 512,
    greatest_size = 65536,
};

/* The last read of this thread. */
static _Thread_local struct {
    int file;
    const uint8_t *bytes;
    size_t size;
    off_t offset;
} last_read;

ssize_t sqlcipherkit_noted_pread(int file, void *bytes, size_t size, off_t offset) {
    last_read.file = file;
    last_read.bytes = bytes;
    last_read.size = size;
    last_read.offset = offset;
    return pread(file, bytes, size, offset);
}

void sqlcipherkit_ahead_forget(struct sqlcipherkit_ahead *ahead) {
    ahead->count = 0;
    ahead->run = 0;
}

void sqlcipherkit_ahead_free(struct sqlcipherkit_ahead *ahead) {
    free(ahead->pages);
    ahead->pages = NULL;
    ahead->page_size = 0;
    sqlcipherkit_ahead_forget(ahead);
}

static uint8_t *mac_at(const struct sqlcipherkit_ahead *ahead, size_t index) {
    return ahead->pages + sha512_many * ahead->page_size + index * sha512_digest_size;
}

/* The HMACs of sha512_many messages of `size` bytes, each followed by a page number. */
static void macs_of(const struct sqlcipherkit_sha512_kernel *kernel, const struct sqlcipherkit_sha512_pads *pads,
                    const uint8_t *const pages[sha512_many], size_t size, uint32_t first, uint8_t *macs) {
    uint64_t state[8][sha512_many];
    uint8_t tails[sha512_many][2 * sha512_block_size];
    const uint8_t *tail[sha512_many];
    const size_t rest = size % sha512_block_size;
    const size_t blocks = rest + 4 + 17 <= sha512_block_size ? 1 : 2;
    for (int lane = 0; lane < sha512_many; lane++) {
        const uint32_t number = first + (uint32_t)lane;
        const uint8_t bytes[4] = {
            (uint8_t)number, (uint8_t)(number >> 8), (uint8_t)(number >> 16), (uint8_t)(number >> 24),
        };
        tail[lane] = tails[lane];
        memset(tails[lane], 0, sizeof tails[lane]);
        memcpy(tails[lane], pages[lane] + (size - rest), rest);
        memcpy(tails[lane] + rest, bytes, sizeof bytes);
        sqlcipherkit_sha512_pad(tails[lane], rest + 4, blocks, sha512_block_size + size + 4);
        for (int word = 0; word < 8; word++) {
            state[word][lane] = pads->inner[word];
        }
    }
    kernel->compress_many(state, pages, size / sha512_block_size);
    kernel->compress_many(state, tail, blocks);
    for (int lane = 0; lane < sha512_many; lane++) {
        uint64_t digest[8];
        for (int word = 0; word < 8; word++) {
            digest[word] = state[word][lane];
            state[word][lane] = pads->outer[word];
        }
        memset(tails[lane], 0, sizeof tails[lane]);
        sqlcipherkit_sha512_put(tails[lane], digest);
        sqlcipherkit_sha512_pad(tails[lane], sha512_digest_size, 1, sha512_block_size + sha512_digest_size);
    }
    kernel->compress_many(state, tail, 1);
    for (int lane = 0; lane < sha512_many; lane++) {
        uint64_t digest[8];
        for (int word = 0; word < 8; word++) {
            digest[word] = state[word][lane];
        }
        sqlcipherkit_sha512_put(macs + lane * sha512_digest_size, digest);
    }
    sqlcipherkit_wipe(state, sizeof state);
}

/* Reads the pages after `page` into `ahead`, with that one in front, and computes all their MACs. Returns whether it
 * did. */
static int compute(struct sqlcipherkit_ahead *ahead, const struct sqlcipherkit_sha512_kernel *kernel,
                   const struct sqlcipherkit_sha512_pads *pads, int mac_slot, const uint8_t *in, size_t size,
                   uint32_t page) {
    const size_t page_size = last_read.size;
    const uint8_t *pages[sha512_many];
    ahead->count = 0;
    if (ahead->page_size != page_size) {
        free(ahead->pages);
        ahead->pages = malloc(sha512_many * (page_size + sha512_digest_size));
        ahead->page_size = ahead->pages == NULL ? 0 : page_size;
        if (ahead->pages == NULL) {
            return 0;
        }
    }
    memcpy(ahead->pages, in, size);
    ssize_t got = pread(last_read.file, ahead->pages + page_size, (sha512_many - 1) * page_size,
                        last_read.offset + (off_t)page_size);
    uint32_t count = 1 + (got > 0 ? (uint32_t)((size_t)got / page_size) : 0);
    if (count < sha512_many / 2) {
        return 0; /* near the end of the file the work would be for nothing */
    }
    /* Lanes without a page repeat the first one; nobody asks for theirs. */
    for (uint32_t i = 0; i < sha512_many; i++) {
        pages[i] = ahead->pages + (i < count ? i : 0) * page_size;
    }
    macs_of(kernel, pads, pages, size, page, mac_at(ahead, 0));
    ahead->mac_slot = mac_slot;
    ahead->first = page;
    ahead->count = count;
    ahead->size = size;
    return 1;
}

int sqlcipherkit_ahead_mac(struct sqlcipherkit_ahead *ahead, const struct sqlcipherkit_sha512_kernel *kernel,
                           const struct sqlcipherkit_sha512_pads *pads, int mac_slot, const uint8_t *in, size_t size,
                           const uint8_t number[4], uint8_t mac[64]) {
    const uint32_t page =
        (uint32_t)number[0] | (uint32_t)number[1] << 8 | (uint32_t)number[2] << 16 | (uint32_t)number[3] << 24;
    const size_t page_size = last_read.size;
    /* Only a page that this thread has just read from its own place in the file; all others, encryption's above all,
     * are none of this. */
    if (kernel->compress_many == NULL || mac_slot < 0 || page < 2 || in != last_read.bytes || size > page_size ||
        page_size < least_size || page_size > greatest_size ||
        last_read.offset != (off_t)(page - 1) * (off_t)page_size) {
        return 0;
    }
    last_read.bytes = NULL;
    ahead->run = page == ahead->last_page + 1 ? ahead->run + 1 : 1;
    ahead->last_page = page;
    const uint32_t index = page - ahead->first;
    if (index < ahead->count && ahead->mac_slot == mac_slot && ahead->size == size && ahead->page_size == page_size &&
        memcmp(in, ahead->pages + index * page_size, size) == 0) {
        memcpy(mac, mac_at(ahead, index), sha512_digest_size);
        return 1;
    }
    if (ahead->run < least_run || !compute(ahead, kernel, pads, mac_slot, in, size, page)) {
        return 0;
    }
    memcpy(mac, mac_at(ahead, 0), sha512_digest_size);
    return 1;
}
