/* Published vectors through the seam of Provider/Primitives, whichever library is behind it. AES and the HMACs go through it in
 * vectors.c, as the kernel set "the library". */
#include "probe.h"
#include "../../Sources/CSQLCipher/Provider/Primitives/blake2b.h"
#include "../../Sources/CSQLCipher/Provider/Primitives/chacha20_poly1305.h"
#include "../../Sources/CSQLCipher/Provider/Primitives/hash.h"

#include "CSQLCipher.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t unhex(const char *text, uint8_t *bytes) {
    size_t size = strlen(text) / 2;
    for (size_t i = 0; i < size; i++) {
        const char pair[3] = {text[2 * i], text[2 * i + 1], 0};
        bytes[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return size;
}

static int expect(const char *name, const uint8_t *found, const char *hex) {
    uint8_t wanted[256];
    size_t size = unhex(hex, wanted);
    if (memcmp(found, wanted, size) == 0) return 0;
    printf("%s: wrong\n", name);
    return 1;
}

/* FIPS 180-4's examples, published with the standard: text, how often it stands there, SHA-1, SHA-256. */
static const struct hash_vector {
    const char *text;
    size_t times;
    const char *digests[2];
} hash_vectors[] = {
    {"", 1,
     {"da39a3ee5e6b4b0d3255bfef95601890afd80709", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}},
    {"abc", 1,
     {"a9993e364706816aba3e25717850c26c9cd0d89d", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
     {"84983e441c3bd26ebaae4aa1f95129e5e54670f1", "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"}},
    {"a", 1000000,
     {"34aa973cd4c4daa4f61eeb2bdbad27316534016f", "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"}},
};

/* Whole, in two parts at several places, and after a first block that is kept as a state. */
static int check_hash(const struct hash_vector *vector, int algorithm) {
    const char *name = algorithm == SQLCIPHERKIT_SHA1 ? "SHA-1" : "SHA-256", *wanted = vector->digests[algorithm];
    size_t part = strlen(vector->text), size = part * vector->times;
    uint8_t *message = malloc(size + 1), digest[32];
    int wrong = sqlcipherkit_hash_size(algorithm) != strlen(wanted) / 2;
    for (size_t i = 0; i < size; i++) message[i] = (uint8_t)vector->text[i % part];
    sqlcipherkit_hash(algorithm, NULL, message, size, NULL, 0, digest);
    wrong += expect(name, digest, wanted);
    for (size_t split = 0; split <= size && split < 200; split++) {
        sqlcipherkit_hash(algorithm, NULL, message, split, message + split, size - split, digest);
        wrong += expect(name, digest, wanted);
    }
    if (size > hash_block_size) {
        struct sqlcipherkit_hash_state state, copy;
        sqlcipherkit_hash_block(algorithm, message, &state);
        memcpy(&copy, &state, sizeof copy);
        /* Twice from the same state: it is read, not used up. */
        for (int i = 0; i < 2; i++) {
            sqlcipherkit_hash(algorithm, &copy, message + hash_block_size, 1, message + hash_block_size + 1,
                              size - hash_block_size - 1, digest);
            wrong += expect(name, digest, wanted);
        }
    }
    free(message);
    return wrong;
}

/* RFC 7693, appendices A and E. */
static int check_blake2b(void) {
    uint8_t digest[64], in[1024], all[64];
    struct sqlcipherkit_blake2b hash, total;
    static const size_t digest_sizes[4] = {20, 32, 48, 64}, sizes[6] = {0, 3, 128, 129, 255, 1024};
    sqlcipherkit_blake2b_start(&hash, 64);
    sqlcipherkit_blake2b_add(&hash, "abc", 3);
    sqlcipherkit_blake2b_finish(&hash, digest);
    int wrong = expect("BLAKE2b, A", digest,
                       "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d17d87c5392aab792dc252d5de4533cc9518d38aa8dbf1"
                       "925ab92386edd4009923");
    /* The self-test of E without its keyed half, so that the sum is not the one printed there: it is that of Python's hashlib. */
    sqlcipherkit_blake2b_start(&total, 32);
    for (size_t i = 0; i < 4; i++) {
        for (size_t j = 0; j < 6; j++) {
            uint32_t a = (uint32_t)(0xDEAD4BADu * sizes[j]), b = 1;
            for (size_t k = 0; k < sizes[j]; k++) {
                const uint32_t t = a + b;
                a = b;
                b = t;
                in[k] = (uint8_t)(t >> 24);
            }
            sqlcipherkit_blake2b_start(&hash, digest_sizes[i]);
            /* A byte first, so that every place of the buffer's end is met. */
            sqlcipherkit_blake2b_add(&hash, in, sizes[j] > 0);
            sqlcipherkit_blake2b_add(&hash, in + 1, sizes[j] > 0 ? sizes[j] - 1 : 0);
            sqlcipherkit_blake2b_finish(&hash, digest);
            sqlcipherkit_blake2b_add(&total, digest, digest_sizes[i]);
        }
    }
    sqlcipherkit_blake2b_finish(&total, all);
    return wrong + expect("BLAKE2b, E", all, "681f345ad53c6360214ea500fd259edddbca775f605fad81b9b189d6d88e15c6");
}

/* RFC 8439, 2.8.2; and every bit of the tag, of the text and of what is associated. */
static int check_chacha20_poly1305(void) {
    static const char text[] =
        "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be it.";
    enum { size = sizeof text - 1 };
    uint8_t key[32], nonce[12], associated[12], sealed[size], opened[size], tag[16];
    for (int i = 0; i < 32; i++) key[i] = (uint8_t)(0x80 + i);
    unhex("070000004041424344454647", nonce);
    unhex("50515253c0c1c2c3c4c5c6c7", associated);
    const struct sqlcipherkit_chacha20_key with = {key, nonce, associated, sizeof associated};
    int wrong = sqlcipherkit_chacha20_poly1305_seal(&with, (const uint8_t *)text, size, sealed, tag) != SQLITE_OK;
    wrong += expect("ChaCha20-Poly1305", sealed,
                    "d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d63dbea45e8ca9671282fafb69da92728b1a71de0a9e060b29"
                    "05d6a5b67ecd3b3692ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc3ff4def08e4b7a9de576d26586cec64b"
                    "6116");
    wrong += expect("ChaCha20-Poly1305, tag", tag, "1ae10b594f09e26a7e902ecbd0600691");
    wrong += sqlcipherkit_chacha20_poly1305_open(&with, sealed, size, tag, opened) != SQLITE_OK;
    wrong += memcmp(opened, text, size) != 0;
    uint8_t *const parts[3] = {sealed, tag, associated};
    const size_t sizes[3] = {size, sizeof tag, sizeof associated};
    for (int part = 0; part < 3; part++) {
        for (size_t bit = 0; bit < 8 * sizes[part]; bit++) {
            parts[part][bit / 8] ^= (uint8_t)(1 << bit % 8);
            wrong += sqlcipherkit_chacha20_poly1305_open(&with, sealed, size, tag, opened) != SQLITE_AUTH;
            parts[part][bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
    }
    /* One byte, and nothing associated. */
    const struct sqlcipherkit_chacha20_key bare = {key, nonce, NULL, 0};
    wrong += sqlcipherkit_chacha20_poly1305_seal(&bare, key, 1, sealed, tag) != SQLITE_OK;
    wrong += sqlcipherkit_chacha20_poly1305_open(&bare, sealed, 1, tag, opened) != SQLITE_OK;
    tag[15] ^= 0x80;
    wrong += sqlcipherkit_chacha20_poly1305_open(&bare, sealed, 1, tag, opened) != SQLITE_AUTH;
    return wrong;
}

int run_primitives(void) {
    int wrong = 0;
    for (size_t i = 0; i < sizeof hash_vectors / sizeof *hash_vectors; i++) {
        wrong += check_hash(&hash_vectors[i], SQLCIPHERKIT_SHA1) + check_hash(&hash_vectors[i], SQLCIPHERKIT_SHA256);
    }
    wrong += check_blake2b() + check_chacha20_poly1305();
    printf("SHA-1, SHA-256, BLAKE2b, ChaCha20-Poly1305, with %s: %s\n", SQLCIPHERKIT_LIBRARY_NAME,
           wrong == 0 ? "all vectors hold" : "WRONG");
    return wrong != 0;
}
