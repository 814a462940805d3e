/* Random cases: every kernel against another implementation, OpenSSL's libcrypto where there is one (loaded at run time,
 * so that nothing needs it to be built), else the library that the primitives are from. */
#include "probe.h"
#include "with_kernels.h"
#include "../../Sources/CSQLCipher/Provider/Primitives/blake2b.h"
#include "../../Sources/CSQLCipher/Provider/Primitives/chacha20_poly1305.h"

#include "CSQLCipher.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The functions of libcrypto 3 in use; its types are opaque here. */
static struct {
    unsigned char *(*sha512)(const unsigned char *data, size_t size, unsigned char *digest);
    unsigned char *(*hmac)(const void *hash, const void *key, int key_size, const unsigned char *data, size_t size,
                           unsigned char *mac, unsigned *mac_size);
    int (*pbkdf2)(const char *password, int password_size, const unsigned char *salt, int salt_size, int iterations,
                  const void *hash, int size, unsigned char *out);
    const void *hashes[3];
    const void *aes;
    void *(*cipher_new)(void);
    void (*cipher_free)(void *);
    int (*cipher_init)(void *, const void *cipher, void *engine, const unsigned char *key, const unsigned char *iv,
                       int encrypt);
    int (*cipher_padding)(void *, int padding);
    int (*cipher_update)(void *, unsigned char *out, int *out_size, const unsigned char *in, int size);
    int (*cipher_final)(void *, unsigned char *out, int *out_size);
    int (*cipher_control)(void *, int type, int argument, void *pointer);
    int (*digest)(const void *data, size_t size, unsigned char *digest, unsigned *digest_size, const void *hash, void *engine);
    const void *blake2b, *chacha20_poly1305;
} openssl;

static int use_library;

/* A function's address through a pointer of another type, as POSIX intends for dlsym. */
static int find(void *library, const char *name, void *function) {
    void *address = dlsym(library, name);
    memcpy(function, &address, sizeof address);
    if (address == NULL) {
        printf("libcrypto has no %s\n", name);
    }
    return address != NULL;
}

static int load_openssl(void) {
    void *library = dlopen("libcrypto.so.3", RTLD_NOW);
    const void *(*get)(void);
    static const char *const hashes[3] = {"EVP_sha1", "EVP_sha256", "EVP_sha512"};
    if (library == NULL) {
        printf("libcrypto.so.3 cannot be loaded: %s\n", dlerror());
        return 0;
    }
    for (int i = 0; i < 3; i++) {
        if (!find(library, hashes[i], &get)) {
            return 0;
        }
        openssl.hashes[i] = get();
    }
    if (!find(library, "EVP_aes_256_cbc", &get)) {
        return 0;
    }
    openssl.aes = get();
    if (!find(library, "EVP_blake2b512", &get)) {
        return 0;
    }
    openssl.blake2b = get();
    if (!find(library, "EVP_chacha20_poly1305", &get)) {
        return 0;
    }
    openssl.chacha20_poly1305 = get();
    return find(library, "SHA512", &openssl.sha512) && find(library, "HMAC", &openssl.hmac) &&
           find(library, "PKCS5_PBKDF2_HMAC", &openssl.pbkdf2) &&
           find(library, "EVP_CIPHER_CTX_new", &openssl.cipher_new) &&
           find(library, "EVP_CIPHER_CTX_free", &openssl.cipher_free) &&
           find(library, "EVP_CipherInit_ex", &openssl.cipher_init) &&
           find(library, "EVP_CIPHER_CTX_set_padding", &openssl.cipher_padding) &&
           find(library, "EVP_CipherUpdate", &openssl.cipher_update) &&
           find(library, "EVP_CipherFinal_ex", &openssl.cipher_final) &&
           find(library, "EVP_CIPHER_CTX_ctrl", &openssl.cipher_control) && find(library, "EVP_Digest", &openssl.digest);
}

enum { most = 9100 /* a page and its tag */, longest = 9000 };

/* One case: random bytes and sizes, and the oracle's answers come out of the same generator for every kernel. */
struct inputs {
    int what; /* 0 SHA-512, 1 HMAC, 2 PBKDF2, 3 AES encryption, 4 AES decryption, 5 BLAKE2b, 6 ChaCha20-Poly1305 */
    int algorithm;
    size_t key_size, size, split, salt_size, out_size;
    uint32_t iterations;
    int in_place;
    uint8_t key[400], salt[80], iv[16], data[most];
};

static size_t up_to(uint64_t *seed, size_t limit) {
    return (size_t)(next_number(seed) % (limit + 1));
}

static void draw(uint64_t *seed, struct inputs *in) {
    in->what = (int)up_to(seed, 6);
    in->algorithm = (int)up_to(seed, 2);
    /* Mostly short, at every length around the blocks; sometimes a page and more. */
    in->size = up_to(seed, 7) > 0 ? up_to(seed, 700) : up_to(seed, longest);
    in->split = up_to(seed, in->size);
    in->key_size = in->what > 2 ? 32 : 1 + up_to(seed, up_to(seed, 1) ? 399 : 40);
    in->salt_size = 1 + up_to(seed, 79);
    in->iterations = 1 + (uint32_t)up_to(seed, 5);
    in->out_size = 1 + up_to(seed, 150);
    in->in_place = (int)up_to(seed, 1);
    if (in->what == 3 || in->what == 4) {
        in->size -= in->size % 16;
    }
    if (in->what == 6) {
        in->size += in->size == 0;
        in->split = in->size / 2;
    }
    fill_numbers(seed, in->key, in->key_size);
    fill_numbers(seed, in->salt, in->salt_size);
    fill_numbers(seed, in->iv, sizeof in->iv);
    fill_numbers(seed, in->data, in->size);
}

static size_t kernel(unsigned features, const struct inputs *in, uint8_t *out) {
    static const size_t mac_sizes[3] = {20, 32, 64};
    const struct sqlcipherkit_chacha20_key with = {in->key, in->iv, in->salt, in->salt_size};
    struct sqlcipherkit_blake2b hash;
    switch (in->what) {
    case 0:
        probe_sha512(features, in->data, in->size, out);
        return 64;
    case 1:
        probe_hmac(features, in->algorithm, in->key, in->key_size, in->data, in->split,
                   in->data + in->split, in->size - in->split, out);
        return mac_sizes[in->algorithm];
    case 2:
        probe_pbkdf2(features, in->algorithm, in->key, in->key_size, in->salt, in->salt_size,
                     in->iterations, out, in->out_size);
        return in->out_size;
    case 5:
        sqlcipherkit_blake2b_start(&hash, 64);
        sqlcipherkit_blake2b_add(&hash, in->data, in->split);
        sqlcipherkit_blake2b_add(&hash, in->data + in->split, in->size - in->split);
        sqlcipherkit_blake2b_finish(&hash, out);
        return 64;
    case 6:
        if (sqlcipherkit_chacha20_poly1305_seal(&with, in->data, in->size, out, out + in->size) != SQLITE_OK) {
            printf("sealing fails\n");
        }
        return in->size + 16;
    default:
        memcpy(out, in->data, in->size);
        probe_aes_cbc(features, in->what == 3, in->key, in->iv, in->in_place ? out : in->data, in->size,
                      out);
        return in->size;
    }
}

static void oracle(const struct inputs *in, uint8_t *out) {
    int size = 0;
    void *cipher;
    if (use_library) {
        kernel(0, in, out);
        return;
    }
    switch (in->what) {
    case 0:
        openssl.sha512(in->data, in->size, out);
        return;
    case 1:
        openssl.hmac(openssl.hashes[in->algorithm], in->key, (int)in->key_size, in->data, in->size, out, NULL);
        return;
    case 2:
        openssl.pbkdf2((const char *)in->key, (int)in->key_size, in->salt, (int)in->salt_size, (int)in->iterations,
                       openssl.hashes[in->algorithm], (int)in->out_size, out);
        return;
    case 5:
        openssl.digest(in->data, in->size, out, NULL, openssl.blake2b, NULL);
        return;
    case 6:
        cipher = openssl.cipher_new();
        openssl.cipher_init(cipher, openssl.chacha20_poly1305, NULL, in->key, in->iv, 1);
        openssl.cipher_update(cipher, NULL, &size, in->salt, (int)in->salt_size);
        openssl.cipher_update(cipher, out, &size, in->data, (int)in->size);
        openssl.cipher_final(cipher, out + in->size, &size);
        openssl.cipher_control(cipher, 0x10 /* EVP_CTRL_AEAD_GET_TAG */, 16, out + in->size);
        openssl.cipher_free(cipher);
        return;
    default:
        cipher = openssl.cipher_new();
        openssl.cipher_init(cipher, openssl.aes, NULL, in->key, in->iv, in->what == 3);
        openssl.cipher_padding(cipher, 0);
        openssl.cipher_update(cipher, out, &size, in->data, (int)in->size);
        openssl.cipher_free(cipher);
    }
}

int run_differential(const char *oracle_name, long cases, uint64_t seed) {
    static struct inputs in;
    static uint8_t wanted[most], found[most];
    use_library = strcmp(oracle_name, "library") == 0;
    if (!use_library && !load_openssl()) {
        return 1;
    }
    for (long number = 0; number < cases; number++) {
        uint64_t before = seed;
        draw(&seed, &in);
        oracle(&in, wanted);
        for (size_t i = 0; i < kernel_set_count; i++) {
            if (!is_available(&kernel_sets[i])) {
                continue;
            }
            size_t size = kernel(kernel_sets[i].features, &in, found);
            if (memcmp(found, wanted, size) != 0) {
                printf("%s differs from %s: kind %d, algorithm %d, %zu bytes, seed %llu\n", kernel_sets[i].name,
                       oracle_name, in.what, in.algorithm, in.size, (unsigned long long)before);
                return 1;
            }
        }
    }
    printf("%ld random cases, each kernel agrees with %s\n", cases, oracle_name);
    return 0;
}
