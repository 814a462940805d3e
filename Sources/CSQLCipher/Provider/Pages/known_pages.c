/* See known_pages.h. */
#include "known_pages.h"
#include "../../System/secure.h"

#include <stdlib.h>
#include <string.h>

int sqlcipherkit_pages_reserve(struct sqlcipherkit_pages *pages, size_t room) {
    pages->count = 0;
    if (pages->room != room) {
        sqlcipherkit_pages_free(pages);
        pages->bytes = malloc(pages_most * (room + sha512_digest_size));
        pages->room = pages->bytes == NULL ? 0 : room;
    }
    return pages->bytes == NULL ? -1 : 0;
}

void sqlcipherkit_pages_free(struct sqlcipherkit_pages *pages) {
    free(pages->bytes);
    pages->bytes = NULL;
    pages->room = 0;
    pages->count = 0;
}

static uint8_t *mac_at(const struct sqlcipherkit_pages *pages, uint32_t index) {
    return pages->bytes + pages_most * pages->room + index * sha512_digest_size;
}

uint32_t sqlcipherkit_pages_find(const struct sqlcipherkit_pages *pages, uint32_t number) {
    uint32_t index = 0;
    while (index < pages->count && pages->numbers[index] != number) {
        index++;
    }
    return index;
}

void sqlcipherkit_pages_authenticate(struct sqlcipherkit_pages *pages, const struct sqlcipherkit_sha512_kernel *kernel,
                                     const struct sqlcipherkit_sha512_pads *pads, int mac_slot) {
    uint64_t state[8][sha512_many];
    uint8_t tails[sha512_many][2 * sha512_block_size];
    const uint8_t *page[sha512_many];
    const uint8_t *tail[sha512_many];
    const size_t rest = pages->size % sha512_block_size;
    const size_t blocks = rest + 4 + 17 <= sha512_block_size ? 1 : 2;
    for (uint32_t lane = 0; lane < sha512_many; lane++) {
        /* Lanes without a page repeat the first one; nobody asks for theirs. */
        const uint32_t index = lane < pages->count ? lane : 0;
        const uint32_t number = pages->numbers[index];
        const uint8_t bytes[4] = {
            (uint8_t)number, (uint8_t)(number >> 8), (uint8_t)(number >> 16), (uint8_t)(number >> 24),
        };
        page[lane] = sqlcipherkit_pages_at(pages, index);
        tail[lane] = tails[lane];
        memset(tails[lane], 0, sizeof tails[lane]);
        memcpy(tails[lane], page[lane] + (pages->size - rest), rest);
        memcpy(tails[lane] + rest, bytes, sizeof bytes);
        sqlcipherkit_sha512_pad(tails[lane], rest + 4, blocks, sha512_block_size + pages->size + 4);
        for (int word = 0; word < 8; word++) {
            state[word][lane] = pads->inner[word];
        }
    }
    kernel->compress_many(state, page, pages->size / sha512_block_size, pages->count);
    kernel->compress_many(state, tail, blocks, pages->count);
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
    kernel->compress_many(state, tail, 1, pages->count);
    for (uint32_t lane = 0; lane < sha512_many; lane++) {
        uint64_t digest[8];
        for (int word = 0; word < 8; word++) {
            digest[word] = state[word][lane];
        }
        sqlcipherkit_sha512_put(mac_at(pages, lane), digest);
    }
    pages->mac_slot = mac_slot;
    sqlcipherkit_wipe(state, sizeof state);
}

int sqlcipherkit_pages_mac(const struct sqlcipherkit_pages *pages, int mac_slot, uint32_t number, const uint8_t *in,
                           size_t size, uint8_t mac[64]) {
    const uint32_t index = sqlcipherkit_pages_find(pages, number);
    if (index == pages->count || pages->mac_slot < 0 || pages->mac_slot != mac_slot || pages->size != size ||
        memcmp(in, sqlcipherkit_pages_at(pages, index), size) != 0) {
        return 0;
    }
    memcpy(mac, mac_at(pages, index), sha512_digest_size);
    return 1;
}
