/* The crypto provider as programs and tests see it: which kernels encrypt this process's pages, and hooks for tests.
 *
 * The provider is SQLCipher's plug for cryptography. This package's own one runs AES-256-CBC, HMAC-SHA512 and
 * PBKDF2-HMAC-SHA512 in kernels chosen by what the CPU can do, and leaves everything else to LibTomCrypt.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Names of what does the work; static strings, never NULL. */
struct sqlcipherkit_provider_info {
    const char *provider;  /* as PRAGMA cipher_provider says it: "libtomcrypt" or "openssl" */
    const char *version;   /* of that library; "" where it is not known without opening a database */
    const char *aes;       /* AES-256-CBC of a page */
    const char *sha512;    /* the HMAC-SHA512 of a page */
    const char *page;      /* encryption and HMAC of a page in one pass, eight pages at once, or "separate" */
    const char *pbkdf2;    /* PBKDF2-HMAC-SHA512 */
    const char *other;     /* SHA-1 and SHA-256, for files of older versions */
    const char *random;    /* salts and initialisation vectors */
};

/* Which kernels are in use now. Reads the chosen kernels, choosing them if nobody has yet. Any thread may call it. */
struct sqlcipherkit_provider_info sqlcipherkit_provider_info(void);

/* What a kernel may need. The first is no CPU feature: it stands for this package's own portable SHA-512, without which
 * LibTomCrypt's is taken, as unoptimised builds do. AVX512 means the subsets F, BW, DQ and VL together. */
enum {
    SQLCIPHERKIT_CPU_OWN_CODE = 1 << 0,
    SQLCIPHERKIT_CPU_BMI2 = 1 << 1,
    SQLCIPHERKIT_CPU_AVX2 = 1 << 2,
    SQLCIPHERKIT_CPU_AVX512 = 1 << 3,
    SQLCIPHERKIT_CPU_AESNI = 1 << 4,
    SQLCIPHERKIT_CPU_VAES = 1 << 5,
    SQLCIPHERKIT_CPU_ARM_AES = 1 << 6,
    SQLCIPHERKIT_CPU_ARM_SHA512 = 1 << 7,
};

/* The features of this CPU that its operating system lets programs use, and OWN_CODE. */
unsigned sqlcipherkit_cpu_features(void);

/* The set that kernels are chosen from when no test interferes: all of the above in an optimised build; in an
 * unoptimised one (-O0), where compiled intrinsics are slower than LibTomCrypt's prebuilt C, less. */
unsigned sqlcipherkit_provider_default_features(void);

/* For tests and benchmarks only: choose kernels as if the CPU had no feature outside `features`, from the next page on,
 * in every connection of the process. Pass sqlcipherkit_provider_default_features() to go back. No data is harmed by
 * a change in the midst of work: every kernel computes the same. */
void sqlcipherkit_provider_force(unsigned features);

/* SQLCipher's numbers for the HMAC and the PBKDF2 algorithms. */
enum {
    SQLCIPHERKIT_SHA1 = 0,
    SQLCIPHERKIT_SHA256 = 1,
    SQLCIPHERKIT_SHA512 = 2,
};

/* For tests only: one primitive, run with the kernels that `features` gives (those that the CPU lacks are left out) and
 * without changing what connections use. They return 0, or -1 for an unknown algorithm or a size that is not allowed. */

/* SHA-512 (FIPS 180-4) of `size` bytes. */
int sqlcipherkit_test_sha512(unsigned features, const uint8_t *data, size_t size, uint8_t digest[64]);

/* HMAC (RFC 2104) of `first` followed by `second`, which may be NULL; writes 20, 32 or 64 bytes. */
int sqlcipherkit_test_hmac(unsigned features, int algorithm, const uint8_t *key, size_t key_size,
                           const uint8_t *first, size_t first_size, const uint8_t *second, size_t second_size,
                           uint8_t *mac);

/* PBKDF2 (RFC 8018) with that HMAC; writes `size` bytes. */
int sqlcipherkit_test_pbkdf2(unsigned features, int algorithm, const uint8_t *password, size_t password_size,
                             const uint8_t *salt, size_t salt_size, uint32_t iterations, uint8_t *out, size_t size);

/* AES-256 in CBC mode (FIPS 197, SP 800-38A), no padding: `size` is a multiple of 16. `out` may be `in`. */
int sqlcipherkit_test_aes_cbc(unsigned features, int encrypt, const uint8_t key[32], const uint8_t iv[16],
                              const uint8_t *in, size_t size, uint8_t *out);

/* What a connection does: `pages` pages of `size` bytes at `in` are encrypted to `out`, one after the other, in one
 * connection's state, each with the initialisation vector at `ivs` + 16 × its index, and then authenticated with
 * HMAC-SHA512 (key of 32 bytes) over the ciphertext and the 4 bytes of the page's index, little endian; 64 bytes each at
 * `macs`. Between the two, `meddle` is called (unless NULL) with the ciphertext, and may change it: the HMAC must be that
 * of the changed bytes. */
int sqlcipherkit_test_pages(unsigned features, const uint8_t key[32], const uint8_t mac_key[32], const uint8_t *ivs,
                            const uint8_t *in, size_t size, size_t pages, uint8_t *out, uint8_t *macs,
                            void (*meddle)(uint8_t *page, size_t size));

/* What a connection does when it writes many pages in a row: page i of `pages`, `size` bytes at `in` + i × `size`, becomes
 * `size` + 80 bytes at `out`: ciphertext, the initialisation vector that it was given, and the HMAC-SHA512 of both and of
 * the page's number, i + 2. Each page offers those after it. Before each, `meddle` (unless NULL) may change the page and
 * those after it. Sets `prepared` to the number of pages that were encrypted in the batch of a page before them. */
int sqlcipherkit_test_write_batch(unsigned features, const uint8_t key[32], const uint8_t mac_key[32], uint8_t *in,
                                  size_t size, size_t pages, uint8_t *out,
                                  void (*meddle)(uint8_t *in, size_t size, size_t pages, size_t next), size_t *prepared);

/* `size` bytes of the system's generator: 0, or -1 if it gave none. */
int sqlcipherkit_test_random(uint8_t *out, size_t size);

/* The next `count` requests for random bytes in this process fail, as on a system without a generator. */
void sqlcipherkit_test_fail_random(int count);
