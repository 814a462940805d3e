/* SHA-512's end of message, HMAC-SHA512 and PBKDF2-HMAC-SHA512, on top of any kernel that compresses blocks. */
#include "sha512.h"
#include "../../System/secure.h"

#include <string.h>

static void put_big_endian(uint8_t bytes[8], uint64_t word) {
    word = __builtin_bswap64(word);
    memcpy(bytes, &word, sizeof word);
}

void sqlcipherkit_sha512_put(uint8_t bytes[64], const uint64_t state[8]) {
    for (size_t i = 0; i < 8; i++) {
        put_big_endian(bytes + 8 * i, state[i]);
    }
}

void sqlcipherkit_sha512_get(uint64_t state[8], const uint8_t bytes[64]) {
    for (size_t i = 0; i < 8; i++) {
        uint64_t word;
        memcpy(&word, bytes + 8 * i, sizeof word);
        state[i] = __builtin_bswap64(word);
    }
}

/* FIPS 180-4, 5.1.2. The message's length in bits is a 16-byte number; its upper half is 0 here. */
void sqlcipherkit_sha512_pad(uint8_t *last, size_t used, size_t blocks, uint64_t total) {
    last[used] = 0x80;
    put_big_endian(last + blocks * sha512_block_size - 8, total * 8);
}

void sqlcipherkit_sha512_finish(const struct sqlcipherkit_sha512_kernel *kernel, uint64_t state[8], uint64_t before,
                                const uint8_t *first, size_t first_size, const uint8_t *second, size_t second_size) {
    uint8_t tail[2 * sha512_block_size];
    const uint64_t total = before + first_size + second_size;
    size_t rest = first_size % sha512_block_size;
    if (rest > 0) {
        memcpy(tail, first + (first_size - rest), rest);
    }
    /* A second part that fills the partial block ends the run of blocks; the rest of it takes the place of the first part. */
    if (rest + second_size >= sha512_block_size) {
        size_t used = sha512_block_size - rest;
        memcpy(tail + rest, second, used);
        kernel->compress(state, first, first_size / sha512_block_size, tail, 1);
        first = second + used;
        first_size = second_size - used;
        second_size = 0;
        rest = first_size % sha512_block_size;
        memcpy(tail, first + (first_size - rest), rest);
    }
    if (second_size > 0) {
        memcpy(tail + rest, second, second_size);
        rest += second_size;
    }
    size_t tail_blocks = rest + 17 <= sha512_block_size ? 1 : 2;
    memset(tail + rest, 0, tail_blocks * sha512_block_size - rest);
    sqlcipherkit_sha512_pad(tail, rest, tail_blocks, total);
    kernel->compress(state, first, first_size / sha512_block_size, tail, tail_blocks);
    sqlcipherkit_wipe(tail, sizeof tail);
}

void sqlcipherkit_hmac_sha512_pads(const struct sqlcipherkit_sha512_kernel *kernel, const uint8_t *key, size_t key_size,
                                   struct sqlcipherkit_sha512_pads *pads) {
    uint8_t block[sha512_block_size] = {0};
    if (key_size > sha512_block_size) {
        uint64_t state[8];
        memcpy(state, sqlcipherkit_sha512_start, sizeof state);
        sqlcipherkit_sha512_finish(kernel, state, 0, key, key_size, NULL, 0);
        sqlcipherkit_sha512_put(block, state);
        sqlcipherkit_wipe(state, sizeof state);
    } else if (key_size > 0) {
        memcpy(block, key, key_size);
    }
    for (size_t i = 0; i < sizeof block; i++) {
        block[i] ^= 0x36;
    }
    memcpy(pads->inner, sqlcipherkit_sha512_start, sizeof pads->inner);
    kernel->compress(pads->inner, block, 1, NULL, 0);
    for (size_t i = 0; i < sizeof block; i++) {
        block[i] ^= 0x36 ^ 0x5c;
    }
    memcpy(pads->outer, sqlcipherkit_sha512_start, sizeof pads->outer);
    kernel->compress(pads->outer, block, 1, NULL, 0);
    sqlcipherkit_wipe(block, sizeof block);
}

void sqlcipherkit_hmac_sha512(const struct sqlcipherkit_sha512_kernel *kernel,
                              const struct sqlcipherkit_sha512_pads *pads, const uint64_t begun[8], size_t before,
                              const uint8_t *first, size_t first_size, const uint8_t *second, size_t second_size,
                              uint8_t mac[64]) {
    uint64_t state[8];
    uint8_t digest[sha512_digest_size];
    memcpy(state, begun != NULL ? begun : pads->inner, sizeof state);
    /* The pad's own block counts as part of the message. */
    sqlcipherkit_sha512_finish(kernel, state, sha512_block_size + before, first, first_size, second, second_size);
    sqlcipherkit_sha512_put(digest, state);
    memcpy(state, pads->outer, sizeof state);
    sqlcipherkit_sha512_finish(kernel, state, sha512_block_size, digest, sizeof digest, NULL, 0);
    sqlcipherkit_sha512_put(mac, state);
    sqlcipherkit_wipe(state, sizeof state);
    sqlcipherkit_wipe(digest, sizeof digest);
}

void sqlcipherkit_pbkdf2_sha512(const struct sqlcipherkit_sha512_kernel *kernel, const uint8_t *password,
                                size_t password_size, const uint8_t *salt, size_t salt_size, uint32_t iterations,
                                uint8_t *out, size_t size) {
    struct sqlcipherkit_sha512_pads pads;
    uint8_t bytes[sha512_digest_size];
    uint64_t u[8];
    uint64_t sum[8];
    if (kernel->pbkdf2 != NULL && kernel->pbkdf2(password, password_size, salt, salt_size, iterations, out, size) == 0) {
        return;
    }
    sqlcipherkit_hmac_sha512_pads(kernel, password, password_size, &pads);
    for (uint32_t index = 1; size > 0; index++) {
        const uint8_t number[4] = {
            (uint8_t)(index >> 24), (uint8_t)(index >> 16), (uint8_t)(index >> 8), (uint8_t)index,
        };
        sqlcipherkit_hmac_sha512(kernel, &pads, NULL, 0, salt, salt_size, number, sizeof number, bytes);
        sqlcipherkit_sha512_get(u, bytes);
        memcpy(sum, u, sizeof sum);
        kernel->iterate(pads.inner, pads.outer, u, sum, iterations - 1);
        sqlcipherkit_sha512_put(bytes, sum);
        size_t part = size < sizeof bytes ? size : sizeof bytes;
        memcpy(out, bytes, part);
        out += part;
        size -= part;
    }
    sqlcipherkit_wipe(&pads, sizeof pads);
    sqlcipherkit_wipe(bytes, sizeof bytes);
    sqlcipherkit_wipe(u, sizeof u);
    sqlcipherkit_wipe(sum, sizeof sum);
}
