/* AES-256-CBC (FIPS 197) in plain C, for CPUs without AES instructions where no library provides it.
 *
 * The code is bitsliced: plane j of a batch holds bit j of 64 bytes, which are four blocks. Every step is then a few logical
 * operations on words, nothing is looked up by secret bytes, and the time does not depend on the data.
 */
#include "../Kernels/aes.h"
#include "library.h"

#if !defined(SQLCIPHERKIT_USES_LIBTOMCRYPT)
#include "../../System/secure.h"

#include <string.h>

enum { planes = 8, batch_blocks = 4, batch_size = batch_blocks * aes_block_size };

/* The round keys of both directions, the same in each of the four blocks. */
struct sliced_schedule {
    uint64_t round[aes256_round_keys][planes];
};

/* --- Bytes to planes and back ------------------------------------------------------------------------------------------ */

/* Transposes a matrix of 8 × 8 bits, with one byte per row. */
static uint64_t transposed(uint64_t x) {
    uint64_t t = (x ^ x >> 7) & 0x00aa00aa00aa00aaULL;
    x ^= t ^ t << 7;
    t = (x ^ x >> 14) & 0x0000cccc0000ccccULL;
    x ^= t ^ t << 14;
    t = (x ^ x >> 28) & 0x00000000f0f0f0f0ULL;
    return x ^ t ^ t << 28;
}

static void slice(uint64_t out[planes], const uint8_t in[batch_size]) {
    memset(out, 0, planes * sizeof *out);
    for (int group = 0; group < 8; group++) {
        uint64_t eight = 0;
        for (int i = 0; i < 8; i++) eight |= (uint64_t)in[8 * group + i] << 8 * i;
        eight = transposed(eight);
        for (int j = 0; j < planes; j++) out[j] |= (eight >> 8 * j & 0xff) << 8 * group;
    }
}

static void unslice(uint8_t out[batch_size], const uint64_t in[planes]) {
    for (int group = 0; group < 8; group++) {
        uint64_t eight = 0;
        for (int j = 0; j < planes; j++) eight |= (in[j] >> 8 * group & 0xff) << 8 * j;
        eight = transposed(eight);
        for (int i = 0; i < 8; i++) out[8 * group + i] = (uint8_t)(eight >> 8 * i);
    }
}

/* --- The S-box (5.1.1) ------------------------------------------------------------------------------------------------- */

/* An inverse in GF(2^8) is computed in the field of the pairs h·y + l over GF(2^4) = GF(2)[z]/(z^4 + z + 1), with y^2 = y + λ and
 * λ = z^3 + z: that field is the same except for a change of basis, and inverses are short there. */

static void multiply(uint64_t out[4], const uint64_t a[4], const uint64_t b[4]) {
    const uint64_t z4 = (a[3] & b[1]) ^ (a[2] & b[2]) ^ (a[1] & b[3]);
    const uint64_t z5 = (a[3] & b[2]) ^ (a[2] & b[3]);
    const uint64_t z6 = a[3] & b[3];
    out[0] = (a[0] & b[0]) ^ z4;
    out[1] = (a[1] & b[0]) ^ (a[0] & b[1]) ^ z4 ^ z5;
    out[2] = (a[2] & b[0]) ^ (a[1] & b[1]) ^ (a[0] & b[2]) ^ z5 ^ z6;
    out[3] = (a[3] & b[0]) ^ (a[2] & b[1]) ^ (a[1] & b[2]) ^ (a[0] & b[3]) ^ z6;
}

/* The inverse of h·y + l is (h·y + h + l) / (h^2·λ + h·l + l^2); that of 0 is 0. */
static void invert(uint64_t x[planes]) {
    const uint64_t *const l = x, *const h = x + 4;
    const uint64_t sum[4] = {h[0] ^ l[0], h[1] ^ l[1], h[2] ^ l[2], h[3] ^ l[3]};
    uint64_t n[4], inverse[4], result[planes];
    multiply(n, h, l);
    n[0] ^= h[2] ^ h[3] ^ l[0] ^ l[2];
    n[1] ^= h[0] ^ h[1] ^ l[2];
    n[2] ^= h[1] ^ h[2] ^ l[1] ^ l[3];
    n[3] ^= h[0] ^ h[1] ^ h[2] ^ l[3];
    const uint64_t n01 = n[0] & n[1], n02 = n[0] & n[2], n03 = n[0] & n[3], n12 = n[1] & n[2], n13 = n[1] & n[3];
    const uint64_t n23 = n[2] & n[3];
    inverse[0] = n[0] ^ n[1] ^ n[2] ^ n[3] ^ n02 ^ n12 ^ (n01 & n[2]) ^ (n12 & n[3]);
    inverse[1] = n[3] ^ n01 ^ n02 ^ n12 ^ n13 ^ (n01 & n[3]);
    inverse[2] = n[2] ^ n[3] ^ n01 ^ n02 ^ n03 ^ (n02 & n[3]);
    inverse[3] = n[1] ^ n[2] ^ n[3] ^ n03 ^ n13 ^ n23 ^ (n12 & n[3]);
    multiply(result, sum, inverse);
    multiply(result + 4, h, inverse);
    memcpy(x, result, sizeof result);
}

static void substitute(uint64_t x[planes]) {
    uint64_t in[planes];
    const uint64_t a = x[2] ^ x[3], b = x[1] ^ x[6], c = x[5] ^ a, d = x[7] ^ b;
    in[0] = x[0] ^ x[5];
    in[1] = c;
    in[2] = d;
    in[3] = x[3] ^ d;
    in[4] = x[4] ^ x[6] ^ x[7] ^ a;
    in[5] = x[7] ^ c;
    in[6] = x[4] ^ x[5] ^ b;
    in[7] = x[5] ^ x[7];
    invert(in);
    /* The change of basis back, and the affine transformation; its constant is 0x63. */
    const uint64_t e = in[4] ^ in[7], f = in[5] ^ e, g = in[1] ^ in[2], h = in[0] ^ f;
    x[0] = ~h;
    x[1] = ~(in[0] ^ in[2]);
    x[2] = in[0] ^ in[1] ^ in[3];
    x[3] = in[0] ^ in[4] ^ in[6];
    x[4] = g ^ h;
    x[5] = ~(f ^ g);
    x[6] = ~e;
    x[7] = in[3] ^ in[4] ^ g;
}

static void substitute_back(uint64_t x[planes]) {
    uint64_t in[planes];
    x[0] = ~x[0];
    x[1] = ~x[1];
    x[5] = ~x[5];
    x[6] = ~x[6];
    const uint64_t a = x[4] ^ x[5], b = x[1] ^ x[2], c = x[7] ^ b;
    in[0] = a;
    in[1] = x[0] ^ x[1] ^ x[5];
    in[2] = x[1] ^ a;
    in[3] = x[0] ^ x[4] ^ b;
    in[4] = c;
    in[5] = x[0] ^ x[6] ^ a;
    in[6] = x[3] ^ a ^ c;
    in[7] = x[6] ^ c;
    invert(in);
    const uint64_t d = in[1] ^ in[5], e = in[7] ^ d, f = in[4] ^ in[6], g = in[2] ^ in[3];
    x[0] = in[0] ^ e;
    x[1] = in[5] ^ f;
    x[2] = in[5] ^ in[7] ^ g;
    x[3] = g;
    x[4] = in[2] ^ in[6] ^ in[7];
    x[5] = e;
    x[6] = in[1] ^ in[2] ^ f;
    x[7] = d;
}

/* --- The other steps of a round ---------------------------------------------------------------------------------------- */

/* Bit 4c + r of the 16 bits of a block is its byte in row r and column c. Rotates row r by r columns, to the left or back. */
static void shift_rows(uint64_t x[planes], int back) {
    for (int j = 0; j < planes; j++) {
        const uint64_t row0 = x[j] & 0x1111111111111111ULL, row1 = x[j] & 0x2222222222222222ULL;
        const uint64_t row2 = x[j] & 0x4444444444444444ULL, row3 = x[j] & 0x8888888888888888ULL;
        const uint64_t one = back ? row3 : row1, other = back ? row1 : row3;
        x[j] = row0 | (one >> 4 & 0x0fff0fff0fff0fffULL) | (one << 12 & 0xf000f000f000f000ULL) |
               (row2 >> 8 & 0x00ff00ff00ff00ffULL) | (row2 << 8 & 0xff00ff00ff00ff00ULL) |
               (other >> 12 & 0x000f000f000f000fULL) | (other << 4 & 0xfff0fff0fff0fff0ULL);
    }
}

/* Each byte's place takes the byte `rows` below it in its column. */
static uint64_t up(uint64_t plane, int rows) {
    static const uint64_t kept[4] = {~0ULL, 0x7777777777777777ULL, 0x3333333333333333ULL, 0x1111111111111111ULL};
    return (plane >> rows & kept[rows]) | (plane << (4 - rows) & ~kept[rows]);
}

/* Multiplies by x, modulo x^8 + x^4 + x^3 + x + 1 (4.2.1). */
static void doubled(uint64_t out[planes], const uint64_t in[planes]) {
    const uint64_t high = in[7];
    for (int j = planes - 1; j > 0; j--) out[j] = in[j - 1];
    out[0] = high;
    out[1] ^= high;
    out[3] ^= high;
    out[4] ^= high;
}

/* 5.1.3: 2·a + 3·(the next) + the next but one + the third. */
static void mix_columns(uint64_t x[planes]) {
    uint64_t pair[planes], twice[planes];
    for (int j = 0; j < planes; j++) pair[j] = x[j] ^ up(x[j], 1);
    doubled(twice, pair);
    for (int j = 0; j < planes; j++) x[j] = twice[j] ^ up(x[j], 1) ^ up(pair[j], 2);
}

/* 5.3.3. If 4·(a + the next but one) is added to each byte first, the rest is mix_columns(). */
static void mix_columns_back(uint64_t x[planes]) {
    uint64_t pair[planes], twice[planes], four[planes];
    for (int j = 0; j < planes; j++) pair[j] = x[j] ^ up(x[j], 2);
    doubled(twice, pair);
    doubled(four, twice);
    for (int j = 0; j < planes; j++) x[j] ^= four[j];
    mix_columns(x);
}

static void add(uint64_t x[planes], const uint64_t key[planes]) {
    for (int j = 0; j < planes; j++) x[j] ^= key[j];
}

static void encrypt_batch(const struct sliced_schedule *keys, uint64_t x[planes]) {
    add(x, keys->round[0]);
    for (int round = 1; round < aes256_round_keys; round++) {
        substitute(x);
        shift_rows(x, 0);
        if (round < aes256_round_keys - 1) mix_columns(x);
        add(x, keys->round[round]);
    }
}

static void decrypt_batch(const struct sliced_schedule *keys, uint64_t x[planes]) {
    for (int round = aes256_round_keys - 1; round > 0; round--) {
        add(x, keys->round[round]);
        if (round < aes256_round_keys - 1) mix_columns_back(x);
        shift_rows(x, 1);
        substitute_back(x);
    }
    add(x, keys->round[0]);
}

/* --- Keys and chains --------------------------------------------------------------------------------------------------- */

/* 5.2, for eight words of key. Both halves of the schedule are the same round keys, as bytes. */
static int expand(const uint8_t key[32], struct sqlcipherkit_aes_schedule *schedule) {
    uint8_t *const words = schedule->encrypt;
    uint8_t batch[batch_size] = {0};
    uint64_t sliced[planes];
    uint8_t constant = 1;
    memcpy(words, key, aes256_key_size);
    for (size_t i = aes256_key_size; i < sizeof schedule->encrypt; i += 4) {
        memcpy(batch, words + i - 4, 4);
        if (i % 16 == 0) {
            slice(sliced, batch);
            substitute(sliced);
            unslice(batch, sliced);
        }
        if (i % 32 == 0) {
            const uint8_t first = batch[0];
            batch[0] = batch[1] ^ constant;
            batch[1] = batch[2];
            batch[2] = batch[3];
            batch[3] = first;
            constant = (uint8_t)(constant << 1);
        }
        for (size_t j = 0; j < 4; j++) words[i + j] = words[i + j - aes256_key_size] ^ batch[j];
    }
    memcpy(schedule->decrypt, schedule->encrypt, sizeof schedule->decrypt);
    sqlcipherkit_wipe(batch, sizeof batch);
    sqlcipherkit_wipe(sliced, sizeof sliced);
    return 0;
}

static void slice_schedule(struct sliced_schedule *keys, const uint8_t *bytes) {
    uint8_t batch[batch_size];
    for (int round = 0; round < aes256_round_keys; round++) {
        for (int i = 0; i < batch_blocks; i++) memcpy(batch + i * aes_block_size, bytes + round * aes_block_size, aes_block_size);
        slice(keys->round[round], batch);
    }
    sqlcipherkit_wipe(batch, sizeof batch);
}

static void encrypt_cbc(const struct sqlcipherkit_aes_schedule *schedule, const uint8_t iv[16], const uint8_t *in, size_t size,
                        uint8_t *out) {
    struct sliced_schedule keys;
    uint8_t batch[batch_size] = {0};
    uint64_t x[planes];
    slice_schedule(&keys, schedule->encrypt);
    memcpy(batch, iv, aes_block_size);
    /* Each block waits for the one before it, and so uses the batch alone. */
    for (; size > 0; size -= aes_block_size, in += aes_block_size, out += aes_block_size) {
        for (int i = 0; i < aes_block_size; i++) batch[i] ^= in[i];
        slice(x, batch);
        encrypt_batch(&keys, x);
        unslice(batch, x);
        memcpy(out, batch, aes_block_size);
    }
    sqlcipherkit_wipe(&keys, sizeof keys);
    sqlcipherkit_wipe(batch, sizeof batch);
    sqlcipherkit_wipe(x, sizeof x);
}

static void decrypt_cbc(const struct sqlcipherkit_aes_schedule *schedule, const uint8_t iv[16], const uint8_t *in, size_t size,
                        uint8_t *out) {
    struct sliced_schedule keys;
    uint8_t cipher[aes_block_size + batch_size] = {0}; /* the ciphertext block before the batch, and the batch */
    uint8_t plain[batch_size];
    uint64_t x[planes];
    slice_schedule(&keys, schedule->decrypt);
    memcpy(cipher, iv, aes_block_size);
    while (size > 0) {
        const size_t part = size < batch_size ? size : batch_size;
        memcpy(cipher + aes_block_size, in, part);
        slice(x, cipher + aes_block_size);
        decrypt_batch(&keys, x);
        unslice(plain, x);
        for (size_t i = 0; i < part; i++) out[i] = plain[i] ^ cipher[i];
        memcpy(cipher, cipher + part, aes_block_size);
        in += part;
        out += part;
        size -= part;
    }
    sqlcipherkit_wipe(&keys, sizeof keys);
    sqlcipherkit_wipe(plain, sizeof plain);
    sqlcipherkit_wipe(x, sizeof x);
}

const struct sqlcipherkit_aes_kernel sqlcipherkit_aes_library = {
    .name = "portable C",
    .family = aes_family_library,
    .expand = expand,
    .encrypt_cbc = encrypt_cbc,
    .decrypt_cbc = decrypt_cbc,
};
#endif
