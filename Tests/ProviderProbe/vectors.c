/* Published test vectors, through every kernel that this CPU has. */
#include "probe.h"
#include "published.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most = 256 };

/* Hexadecimal text into bytes. Returns how many. */
static size_t unhex(const char *text, uint8_t bytes[most]) {
    size_t size = strlen(text) / 2;
    for (size_t i = 0; i < size; i++) {
        const char pair[3] = {text[2 * i], text[2 * i + 1], 0};
        bytes[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return size;
}

static int expect(const char *set, const char *name, const uint8_t *found, const char *hex) {
    uint8_t wanted[most];
    size_t size = unhex(hex, wanted);
    if (memcmp(found, wanted, size) == 0) {
        return 0;
    }
    printf("%s: %s: wrong\n", set, name);
    return 1;
}

/* SP 800-38A, F.2.5 and F.2.6: CBC-AES256. */
static const char cbc_key[] = "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4";
static const char cbc_iv[] = "000102030405060708090a0b0c0d0e0f";
static const char cbc_plain[] = "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
                                "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710";
static const char cbc_cipher[] = "f58c4c04d6e5f1ba779eabfb5f7bfbd69cfc4e967edb808d679f777bc6702c7d"
                                 "39f23369a9d9bacfa530e26304231461b2eb05e2c39be9fcda6c19078c6a9d1b";
/* FIPS 197, C.3: one block. CBC of one block with a vector of zeros is the bare cipher. */
static const char block_key[] = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
static const char block_iv[] = "00000000000000000000000000000000";
static const char block_plain[] = "00112233445566778899aabbccddeeff";
static const char block_cipher[] = "8ea2b7ca516745bfeafc49904b496089";

static int check_aes(const struct kernel_set *set, const char *name, const char *key_hex, const char *iv_hex,
                     const char *plain_hex, const char *cipher_hex) {
    uint8_t key[most], iv[most], in[most], out[most];
    int wrong = 0;
    unhex(key_hex, key);
    unhex(iv_hex, iv);
    size_t size = unhex(plain_hex, in);
    wrong += probe_aes_cbc(set->features, 1, key, iv, in, size, out) != 0;
    wrong += expect(set->name, name, out, cipher_hex);
    unhex(cipher_hex, in);
    wrong += probe_aes_cbc(set->features, 0, key, iv, in, size, out) != 0;
    wrong += expect(set->name, name, out, plain_hex);
    return wrong;
}

static int check_sha512(const struct kernel_set *set, const struct sha512_vector *vector) {
    uint8_t text[most], digest[64];
    size_t part = unhex(vector->text, text), size = part * vector->times;
    uint8_t *message = malloc(size + 1);
    for (size_t i = 0; i < size; i++) {
        message[i] = text[i % part];
    }
    int wrong = probe_sha512(set->features, message, size, digest) != 0;
    free(message);
    return wrong + expect(set->name, vector->name, digest, vector->digest);
}

/* Whole, and in two parts. */
static int check_hmac(const struct kernel_set *set, const struct hmac_vector *vector) {
    uint8_t key[most], data[most], mac[64];
    size_t key_size = unhex(vector->key, key), size = unhex(vector->data, data), part = size / 3;
    int wrong =
        probe_hmac(set->features, vector->algorithm, key, key_size, data, size, NULL, 0, mac) != 0;
    wrong += expect(set->name, vector->name, mac, vector->mac);
    wrong += probe_hmac(set->features, vector->algorithm, key, key_size, data, part, data + part,
                        size - part, mac) != 0;
    return wrong + expect(set->name, vector->name, mac, vector->mac);
}

static int check_pbkdf2(const struct kernel_set *set, const struct pbkdf2_vector *vector) {
    uint8_t password[most], salt[most], key[most];
    size_t password_size = unhex(vector->password, password), salt_size = unhex(vector->salt, salt);
    int wrong = probe_pbkdf2(set->features, vector->algorithm, password, password_size, salt, salt_size,
                             vector->iterations, key, strlen(vector->key) / 2) != 0;
    return wrong + expect(set->name, vector->name, key, vector->key);
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

static int check_set(const struct kernel_set *set) {
    int wrong = check_aes(set, "FIPS 197 C.3", block_key, block_iv, block_plain, block_cipher) +
                check_aes(set, "SP 800-38A CBC-AES256", cbc_key, cbc_iv, cbc_plain, cbc_cipher);
    for (size_t i = 0; i < COUNT(sha512_vectors); i++) {
        wrong += check_sha512(set, &sha512_vectors[i]);
    }
    for (size_t i = 0; i < COUNT(hmac_vectors); i++) {
        wrong += check_hmac(set, &hmac_vectors[i]);
    }
    for (size_t i = 0; i < COUNT(pbkdf2_vectors); i++) {
        wrong += check_pbkdf2(set, &pbkdf2_vectors[i]);
    }
    return wrong;
}

int run_vectors(void) {
    int wrong = 0;
    for (size_t i = 0; i < kernel_set_count; i++) {
        if (is_available(&kernel_sets[i])) {
            int of_set = check_set(&kernel_sets[i]);
            printf("%s: %s\n", kernel_sets[i].name, of_set == 0 ? "all vectors hold" : "WRONG");
            wrong += of_set;
        }
    }
    return wrong != 0;
}
