/* BLAKE2b (RFC 7693) in plain C. */
#include "blake2b.h"
#include "../Kernels/sha512.h"
#include "../../System/secure.h"

#include <string.h>

static uint64_t right(uint64_t word, int bits) { return word >> bits | word << (64 - bits); }

/* The mixing function G (3.1). */
static void mix(uint64_t *a, uint64_t *b, uint64_t *c, uint64_t *d, uint64_t x, uint64_t y) {
    *a += *b + x;
    *d = right(*d ^ *a, 32);
    *c += *d;
    *b = right(*b ^ *c, 24);
    *a += *b + y;
    *d = right(*d ^ *a, 16);
    *c += *d;
    *b = right(*b ^ *c, 63);
}

/* The order of a block's words in each round (2.7); the last two of the twelve rounds have the order of the first two. */
static const uint8_t order[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
};

/* The compression function F (3.2). BLAKE2b starts from the same words as SHA-512 (2.6). */
static void compress(struct sqlcipherkit_blake2b *hash, int is_last) {
    uint64_t v[16], words[16];
    for (int i = 0; i < 16; i++) {
        words[i] = 0;
        for (int j = 0; j < 8; j++) words[i] |= (uint64_t)hash->rest[8 * i + j] << 8 * j;
    }
    memcpy(v, hash->state, sizeof hash->state);
    memcpy(v + 8, sqlcipherkit_sha512_start, 8 * sizeof *v);
    v[12] ^= hash->size;
    if (is_last) v[14] = ~v[14];
    for (int round = 0; round < 12; round++) {
        const uint8_t *const s = order[round % 10];
        for (int i = 0; i < 4; i++) mix(v + i, v + 4 + i, v + 8 + i, v + 12 + i, words[s[2 * i]], words[s[2 * i + 1]]);
        for (int i = 0; i < 4; i++) {
            mix(v + i, v + 4 + (i + 1) % 4, v + 8 + (i + 2) % 4, v + 12 + (i + 3) % 4, words[s[8 + 2 * i]], words[s[9 + 2 * i]]);
        }
    }
    for (int i = 0; i < 8; i++) hash->state[i] ^= v[i] ^ v[i + 8];
    sqlcipherkit_wipe(v, sizeof v);
    sqlcipherkit_wipe(words, sizeof words);
}

void sqlcipherkit_blake2b_start(struct sqlcipherkit_blake2b *hash, size_t digest_size) {
    memset(hash, 0, sizeof *hash);
    memcpy(hash->state, sqlcipherkit_sha512_start, sizeof hash->state);
    hash->state[0] ^= 0x01010000 ^ digest_size;
    hash->digest_size = digest_size;
}

void sqlcipherkit_blake2b_add(struct sqlcipherkit_blake2b *hash, const void *bytes, size_t size) {
    const uint8_t *from = bytes;
    while (size > 0) {
        /* A full block waits until there are more bytes, as the last block is compressed with a flag. */
        if (hash->waiting == blake2b_block_size) {
            hash->size += blake2b_block_size;
            compress(hash, 0);
            hash->waiting = 0;
        }
        const size_t room = blake2b_block_size - hash->waiting, part = size < room ? size : room;
        memcpy(hash->rest + hash->waiting, from, part);
        hash->waiting += part;
        from += part;
        size -= part;
    }
}

void sqlcipherkit_blake2b_finish(struct sqlcipherkit_blake2b *hash, uint8_t *digest) {
    hash->size += hash->waiting;
    memset(hash->rest + hash->waiting, 0, blake2b_block_size - hash->waiting);
    compress(hash, 1);
    for (size_t i = 0; i < hash->digest_size; i++) digest[i] = (uint8_t)(hash->state[i / 8] >> 8 * (i % 8));
}
