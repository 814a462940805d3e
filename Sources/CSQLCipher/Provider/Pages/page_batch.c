/* See page_batch.h. */
#include "page_batch.h"
#include "../../System/secure.h"

#include <stdlib.h>
#include <string.h>

static void empty(struct sqlcipherkit_page_batch *batch) {
    batch->stage = batch_empty;
    batch->count = 0;
}

int sqlcipherkit_batch_reserve(struct sqlcipherkit_page_batch *batch, size_t room) {
    empty(batch);
    if (batch->room != room) {
        sqlcipherkit_batch_free(batch);
        batch->bytes = malloc(batch_most * (room + sha512_digest_size));
        batch->room = batch->bytes == NULL ? 0 : room;
    }
    return batch->bytes == NULL ? -1 : 0;
}

void sqlcipherkit_batch_free(struct sqlcipherkit_page_batch *batch) {
    free(batch->bytes);
    batch->bytes = NULL;
    batch->room = 0;
    empty(batch);
}

static uint8_t *mac_at(const struct sqlcipherkit_page_batch *batch, int index) {
    return batch->bytes + batch_most * batch->room + (size_t)index * sha512_digest_size;
}

int sqlcipherkit_batch_find(const struct sqlcipherkit_page_batch *batch, uint32_t number) {
    for (uint32_t i = 0; batch->stage >= batch_encrypted && number != 0 && i < batch->count; i++) {
        if (batch->numbers[i] == number) {
            return (int)i;
        }
    }
    return not_in_batch;
}

void sqlcipherkit_batch_authenticate(struct sqlcipherkit_page_batch *batch, const struct sqlcipherkit_sha512_kernel *kernel,
                                     const struct sqlcipherkit_sha512_pads *pads, int mac_slot) {
    uint64_t state[8][sha512_many];
    uint8_t tails[sha512_many][2 * sha512_block_size];
    const uint8_t *page[sha512_many];
    const uint8_t *tail[sha512_many];
    const size_t rest = batch->size % sha512_block_size;
    const size_t blocks = rest + 4 + 17 <= sha512_block_size ? 1 : 2;
    for (int lane = 0; lane < sha512_many; lane++) {
        /* Lanes without a page repeat the first page; their results are never used. */
        const int index = lane < (int)batch->count ? lane : 0;
        const uint32_t number = batch->numbers[index];
        const uint8_t bytes[4] = {
            (uint8_t)number, (uint8_t)(number >> 8), (uint8_t)(number >> 16), (uint8_t)(number >> 24),
        };
        page[lane] = sqlcipherkit_batch_page(batch, index);
        tail[lane] = tails[lane];
        memset(tails[lane], 0, sizeof tails[lane]);
        memcpy(tails[lane], page[lane] + (batch->size - rest), rest);
        memcpy(tails[lane] + rest, bytes, sizeof bytes);
        sqlcipherkit_sha512_pad(tails[lane], rest + 4, blocks, sha512_block_size + batch->size + 4);
        for (int word = 0; word < 8; word++) {
            state[word][lane] = pads->inner[word];
        }
    }
    kernel->compress_many(state, page, batch->size / sha512_block_size, batch->count);
    kernel->compress_many(state, tail, blocks, batch->count);
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
    kernel->compress_many(state, tail, 1, batch->count);
    for (int lane = 0; lane < sha512_many; lane++) {
        uint64_t digest[8];
        for (int word = 0; word < 8; word++) {
            digest[word] = state[word][lane];
        }
        sqlcipherkit_sha512_put(mac_at(batch, lane), digest);
    }
    batch->mac_slot = mac_slot;
    batch->stage = batch_authenticated;
    sqlcipherkit_wipe(state, sizeof state);
}

int sqlcipherkit_batch_mac(const struct sqlcipherkit_page_batch *batch, int mac_slot, uint32_t number, const uint8_t *in,
                           size_t size, uint8_t mac[64]) {
    const int index = sqlcipherkit_batch_find(batch, number);
    if (index == not_in_batch || batch->stage != batch_authenticated || batch->mac_slot != mac_slot || batch->size != size ||
        memcmp(in, sqlcipherkit_batch_page(batch, index), size) != 0) {
        return 0;
    }
    memcpy(mac, mac_at(batch, index), sha512_digest_size);
    return 1;
}
