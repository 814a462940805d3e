/* ChaCha20-Poly1305 (RFC 8439) in plain C: nothing is looked up by secret bytes, and nothing branches on them. */
#include "chacha20_poly1305.h"
#include "../../System/secure.h"
#include "../../include/key_wrapping.h"
#include "../../include/sqlite.h"

#include <string.h>

static uint32_t get(const uint8_t bytes[4]) {
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static void put(uint8_t bytes[4], uint32_t word) {
    for (int i = 0; i < 4; i++) bytes[i] = (uint8_t)(word >> 8 * i);
}

static uint32_t left(uint32_t word, int bits) { return word << bits | word >> (32 - bits); }

/* --- ChaCha20 (2.3) ---------------------------------------------------------------------------------------------------- */

static void quarter(uint32_t v[16], int a, int b, int c, int d) {
    v[a] += v[b];
    v[d] = left(v[d] ^ v[a], 16);
    v[c] += v[d];
    v[b] = left(v[b] ^ v[c], 12);
    v[a] += v[b];
    v[d] = left(v[d] ^ v[a], 8);
    v[c] += v[d];
    v[b] = left(v[b] ^ v[c], 7);
}

enum { chacha_block = 64, mac_block = 16 };

/* Computes the block of the key stream with that number. */
static void key_stream(const struct sqlcipherkit_chacha20_key *with, uint32_t number, uint8_t out[chacha_block]) {
    uint32_t start[16], v[16];
    for (int i = 0; i < 4; i++) start[i] = get((const uint8_t *)"expand 32-byte k" + 4 * i);
    for (int i = 0; i < 8; i++) start[4 + i] = get(with->key + 4 * i);
    start[12] = number;
    for (int i = 0; i < 3; i++) start[13 + i] = get(with->nonce + 4 * i);
    memcpy(v, start, sizeof v);
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 4; i++) quarter(v, i, 4 + i, 8 + i, 12 + i);
        for (int i = 0; i < 4; i++) quarter(v, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4);
    }
    for (int i = 0; i < 16; i++) put(out + 4 * i, v[i] + start[i]);
    sqlcipherkit_wipe(start, sizeof start);
    sqlcipherkit_wipe(v, sizeof v);
}

static void add_stream(const struct sqlcipherkit_chacha20_key *with, const uint8_t *in, size_t count, uint8_t *out) {
    uint8_t stream[chacha_block];
    /* Block 0 gives the key of the authentication. */
    for (uint32_t number = 1; count > 0; number++) {
        const size_t part = count < sizeof stream ? count : sizeof stream;
        key_stream(with, number, stream);
        for (size_t i = 0; i < part; i++) out[i] = in[i] ^ stream[i];
        in += part;
        out += part;
        count -= part;
    }
    sqlcipherkit_wipe(stream, sizeof stream);
}

/* --- Poly1305 (2.5) ---------------------------------------------------------------------------------------------------- */

/* Numbers modulo 2^130 - 5 in five limbs of 26 bits. */
struct poly1305 {
    uint32_t r[5], sum[5];
};

enum { limb = 0x3ffffff };

/* The limbs of 16 bytes and, above them, `top`. */
static void limbs_of(uint32_t out[5], const uint8_t bytes[mac_block], uint32_t top) {
    const uint64_t low = get(bytes) | (uint64_t)get(bytes + 4) << 32, high = get(bytes + 8) | (uint64_t)get(bytes + 12) << 32;
    out[0] = (uint32_t)low & limb;
    out[1] = (uint32_t)(low >> 26) & limb;
    out[2] = (uint32_t)(low >> 52 | high << 12) & limb;
    out[3] = (uint32_t)(high >> 14) & limb;
    out[4] = (uint32_t)(high >> 40) | top << 24;
}

/* sum = (sum + block) · r. The part beyond 2^130 is added again at the lower end, five times. */
static void absorb(struct poly1305 *mac, const uint8_t bytes[mac_block]) {
    uint32_t block[5];
    uint64_t product[5] = {0}, carry = 0;
    limbs_of(block, bytes, 1);
    for (int i = 0; i < 5; i++) mac->sum[i] += block[i];
    for (int i = 0; i < 5; i++) {
        for (int j = 0; j < 5; j++) {
            const uint64_t part = (uint64_t)mac->sum[i] * mac->r[j];
            product[(i + j) % 5] += i + j < 5 ? part : 5 * part;
        }
    }
    for (int i = 0; i < 5; i++) {
        product[i] += carry;
        mac->sum[i] = (uint32_t)product[i] & limb;
        carry = product[i] >> 26;
    }
    carry = mac->sum[0] + 5 * carry;
    mac->sum[0] = (uint32_t)carry & limb;
    mac->sum[1] += (uint32_t)(carry >> 26);
}

/* Bytes, and zeros up to a whole block (2.8). */
static void absorb_padded(struct poly1305 *mac, const uint8_t *bytes, size_t count) {
    for (; count >= mac_block; bytes += mac_block, count -= mac_block) absorb(mac, bytes);
    if (count > 0) {
        uint8_t last[mac_block] = {0};
        memcpy(last, bytes, count);
        absorb(mac, last);
    }
}

/* The sum modulo 2^130 - 5, and the second half of the key, modulo 2^128. */
static void finish(struct poly1305 *mac, const uint8_t key[mac_block], uint8_t tag[mac_block]) {
    uint32_t reduced[5], carry = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < 5; i++) {
            mac->sum[i] += carry;
            carry = mac->sum[i] >> 26;
            mac->sum[i] &= limb;
        }
        carry *= 5;
    }
    mac->sum[0] += carry;
    /* sum + 5 - 2^130 is the result if that is not negative: if sum + 5 reaches 2^130. */
    carry = 5;
    for (int i = 0; i < 5; i++) {
        reduced[i] = mac->sum[i] + carry;
        carry = reduced[i] >> 26;
        reduced[i] &= limb;
    }
    const uint32_t chosen = 0 - carry;
    for (int i = 0; i < 5; i++) mac->sum[i] = (mac->sum[i] & ~chosen) | (reduced[i] & chosen);
    const uint32_t *const s = mac->sum;
    const uint32_t words[4] = {s[0] | s[1] << 26, s[1] >> 6 | s[2] << 20, s[2] >> 12 | s[3] << 14, s[3] >> 18 | s[4] << 8};
    uint64_t total = 0;
    for (int i = 0; i < 4; i++) {
        total += (uint64_t)words[i] + get(key + 4 * i);
        put(tag + 4 * i, (uint32_t)total);
        total >>= 32;
    }
    sqlcipherkit_wipe(reduced, sizeof reduced);
}

/* --- Both (2.8) -------------------------------------------------------------------------------------------------------- */

static void authenticate(const struct sqlcipherkit_chacha20_key *with, const uint8_t *sealed, size_t count,
                         uint8_t tag[mac_block]) {
    struct poly1305 mac = {{0}, {0}};
    uint8_t key[chacha_block], sizes[mac_block];
    key_stream(with, 0, key);
    for (int i = 3; i < mac_block; i += 4) key[i] &= 15;
    for (int i = 4; i < mac_block; i += 4) key[i] &= 252;
    limbs_of(mac.r, key, 0);
    absorb_padded(&mac, with->associated, with->associated_count);
    absorb_padded(&mac, sealed, count);
    for (int i = 0; i < 8; i++) {
        sizes[i] = (uint8_t)((uint64_t)with->associated_count >> 8 * i);
        sizes[8 + i] = (uint8_t)((uint64_t)count >> 8 * i);
    }
    absorb(&mac, sizes);
    finish(&mac, key + mac_block, tag);
    sqlcipherkit_wipe(&mac, sizeof mac);
    sqlcipherkit_wipe(key, sizeof key);
}

int sqlcipherkit_chacha20_poly1305_seal(const struct sqlcipherkit_chacha20_key *with, const uint8_t *plain, size_t count,
                                        uint8_t *sealed, uint8_t tag[16]) {
    add_stream(with, plain, count, sealed);
    authenticate(with, sealed, count, tag);
    return SQLITE_OK;
}

int sqlcipherkit_chacha20_poly1305_open(const struct sqlcipherkit_chacha20_key *with, const uint8_t *sealed, size_t count,
                                        const uint8_t tag[16], uint8_t *plain) {
    uint8_t computed[mac_block];
    authenticate(with, sealed, count, computed);
    const int is_authentic = sqlcipherkit_equal(computed, tag, sizeof computed);
    sqlcipherkit_wipe(computed, sizeof computed);
    if (!is_authentic) return SQLITE_AUTH;
    add_stream(with, sealed, count, plain);
    return SQLITE_OK;
}
