/* SHA-1 and SHA-256 (FIPS 180-4, 6.1 and 6.2) in plain C. */
#include "hash.h"

#if !defined(SQLCIPHERKIT_USES_LIBTOMCRYPT) && !defined(SQLCIPHERKIT_USES_COMMONCRYPTO)
#include "../../System/secure.h"

#include <string.h>

static uint32_t left(uint32_t word, int bits) { return word << bits | word >> (32 - bits); }
static uint32_t right(uint32_t word, int bits) { return word >> bits | word << (32 - bits); }

static uint32_t get(const uint8_t bytes[4]) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void put(uint8_t bytes[4], uint32_t word) {
    for (int i = 0; i < 4; i++) bytes[i] = (uint8_t)(word >> (24 - 8 * i));
}

/* 4.1.1: three functions of 20 rounds each, the second of them twice. 4.2.1: and their constants. */
static void compress_sha1(uint32_t state[8], const uint8_t *block) {
    static const uint32_t constants[4] = {0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
    uint32_t words[80];
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
    for (int i = 0; i < 16; i++) words[i] = get(block + 4 * i);
    for (int i = 16; i < 80; i++) words[i] = left(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
    for (int i = 0; i < 80; i++) {
        const uint32_t mixed = i < 20 ? (b & c) ^ (~b & d) : i >= 40 && i < 60 ? (b & c) ^ (b & d) ^ (c & d) : b ^ c ^ d;
        const uint32_t next = left(a, 5) + mixed + e + constants[i / 20] + words[i];
        e = d;
        d = c;
        c = left(b, 30);
        b = a;
        a = next;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    sqlcipherkit_wipe(words, sizeof words);
}

/* 4.2.2: the first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t sha256_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static void compress_sha256(uint32_t state[8], const uint8_t *block) {
    uint32_t words[64];
    uint32_t v[8];
    memcpy(v, state, sizeof v);
    for (int i = 0; i < 16; i++) words[i] = get(block + 4 * i);
    for (int i = 16; i < 64; i++) {
        const uint32_t x = words[i - 15], y = words[i - 2];
        words[i] = words[i - 16] + (right(x, 7) ^ right(x, 18) ^ x >> 3) + words[i - 7] + (right(y, 17) ^ right(y, 19) ^ y >> 10);
    }
    for (int i = 0; i < 64; i++) {
        const uint32_t chosen = (v[4] & v[5]) ^ (~v[4] & v[6]), most = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        const uint32_t first =
            v[7] + (right(v[4], 6) ^ right(v[4], 11) ^ right(v[4], 25)) + chosen + sha256_constants[i] + words[i];
        const uint32_t second = (right(v[0], 2) ^ right(v[0], 13) ^ right(v[0], 22)) + most;
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += first;
        v[0] = first + second;
    }
    for (int i = 0; i < 8; i++) state[i] += v[i];
    sqlcipherkit_wipe(words, sizeof words);
    sqlcipherkit_wipe(v, sizeof v);
}

/* An unfinished message: whole blocks are folded in from where they are, and the rest waits. */
struct message {
    uint32_t state[8];
    uint64_t size;
    uint8_t rest[hash_block_size];
};

static void fold(int algorithm, struct message *message, const uint8_t *block) {
    if (algorithm == SQLCIPHERKIT_SHA1) {
        compress_sha1(message->state, block);
    } else {
        compress_sha256(message->state, block);
    }
}

/* 5.3.1 and 5.3.3. */
static void start(int algorithm, struct message *message) {
    static const uint32_t sha1[8] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    static const uint32_t sha256[8] = {
        0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
    };
    memcpy(message->state, algorithm == SQLCIPHERKIT_SHA1 ? sha1 : sha256, sizeof message->state);
    message->size = 0;
}

static void process(int algorithm, struct message *message, const uint8_t *bytes, size_t size) {
    size_t waiting = (size_t)(message->size % hash_block_size);
    message->size += size;
    if (waiting > 0 && waiting + size >= hash_block_size) {
        const size_t part = hash_block_size - waiting;
        memcpy(message->rest + waiting, bytes, part);
        fold(algorithm, message, message->rest);
        bytes += part;
        size -= part;
        waiting = 0;
    }
    for (; size >= hash_block_size; bytes += hash_block_size, size -= hash_block_size) {
        fold(algorithm, message, bytes);
    }
    if (size > 0) memcpy(message->rest + waiting, bytes, size);
}

/* 5.1.1: a bit, zeros, and the length in bits. */
static void finish(int algorithm, struct message *message, uint8_t *digest) {
    size_t used = (size_t)(message->size % hash_block_size);
    message->rest[used++] = 0x80;
    if (used > hash_block_size - 8) {
        memset(message->rest + used, 0, hash_block_size - used);
        fold(algorithm, message, message->rest);
        used = 0;
    }
    memset(message->rest + used, 0, hash_block_size - 8 - used);
    put(message->rest + 56, (uint32_t)(message->size >> 29));
    put(message->rest + 60, (uint32_t)(message->size << 3));
    fold(algorithm, message, message->rest);
    for (size_t i = 0; i < sqlcipherkit_hash_size(algorithm) / 4; i++) put(digest + 4 * i, message->state[i]);
}

void sqlcipherkit_hash_block(int algorithm, const uint8_t block[hash_block_size], struct sqlcipherkit_hash_state *state) {
    struct message message;
    start(algorithm, &message);
    fold(algorithm, &message, block);
    memcpy(state->words, message.state, sizeof state->words);
    sqlcipherkit_wipe(&message, sizeof message);
}

void sqlcipherkit_hash(int algorithm, const struct sqlcipherkit_hash_state *state, const uint8_t *first, size_t first_size,
                       const uint8_t *second, size_t second_size, uint8_t *digest) {
    struct message message;
    start(algorithm, &message);
    if (state != NULL) {
        memcpy(message.state, state->words, sizeof message.state);
        message.size = hash_block_size;
    }
    process(algorithm, &message, first, first_size);
    process(algorithm, &message, second, second_size);
    finish(algorithm, &message, digest);
    sqlcipherkit_wipe(&message, sizeof message);
}
#endif
