/* The plug: fills SQLCipher's struct sqlcipher_provider. Only the amalgamation's own translation unit can see that struct, so this
 * is a header, which only engine.c includes, after the amalgamation. SQLCipher finds sqlcipherkit_provider_setup through
 * SQLCIPHER_CRYPTO_CUSTOM.
 */
#include "operations.h"
#include "../../System/secure.h"

_Static_assert(SQLCIPHER_HMAC_SHA1 == SQLCIPHERKIT_SHA1 && SQLCIPHER_PBKDF2_HMAC_SHA1 == SQLCIPHERKIT_SHA1 &&
                       SQLCIPHER_HMAC_SHA256 == SQLCIPHERKIT_SHA256 &&
                       SQLCIPHER_PBKDF2_HMAC_SHA256 == SQLCIPHERKIT_SHA256 &&
                       SQLCIPHER_HMAC_SHA512 == SQLCIPHERKIT_SHA512 &&
                       SQLCIPHER_PBKDF2_HMAC_SHA512 == SQLCIPHERKIT_SHA512,
               "Primitives/hash.h numbers the algorithms as SQLCipher does");

/* SQLCipher's names for its stock providers, if the library is the same as theirs: its test suite and other programs check for
 * these names, and the files are the same. */
static const char *provider_name(void *ctx) {
    (void)ctx;
    return SQLCIPHERKIT_LIBRARY_PROVIDER;
}

static const char *provider_version(void *ctx) {
    (void)ctx;
    return sqlcipherkit_library_version();
}

static const char *provider_cipher_name(void *ctx) {
    (void)ctx;
    return "aes-256-cbc";
}

static int provider_result(int failed) {
    return failed ? SQLITE_ERROR : SQLITE_OK;
}

static int provider_random(void *ctx, void *buffer, int length) {
    return provider_result(length < 0 || sqlcipherkit_random_bytes(ctx, buffer, (size_t)length));
}

/* PRAGMA cipher_add_random: the system's generator needs no seed from a program. */
static int provider_add_random(void *ctx, const void *buffer, int length) {
    (void)ctx;
    (void)buffer;
    (void)length;
    return SQLITE_OK;
}

static int provider_hmac(void *ctx, int algorithm, const unsigned char *key, int key_size, const unsigned char *in,
                         int in_size, const unsigned char *in2, int in2_size, unsigned char *out) {
    return provider_result(key_size < 0 || in_size < 0 || (in2 != NULL && in2_size < 0) ||
                           sqlcipherkit_hmac(ctx, sqlcipherkit_kernels(), algorithm, key, (size_t)key_size, in,
                                             (size_t)in_size, in2, in2 == NULL ? 0 : (size_t)in2_size, out));
}

static int provider_kdf(void *ctx, int algorithm, const unsigned char *password, int password_size,
                        const unsigned char *salt, int salt_size, int iterations, int size, unsigned char *out) {
    return provider_result(password_size < 0 || salt_size < 0 || iterations < 1 || size < 0 ||
                           sqlcipherkit_pbkdf2(ctx, sqlcipherkit_kernels(), algorithm, password, (size_t)password_size,
                                               salt, (size_t)salt_size, (uint32_t)iterations, out, (size_t)size));
}

static int provider_cipher(void *ctx, int mode, const unsigned char *key, int key_size, const unsigned char *iv,
                           const unsigned char *in, int size, unsigned char *out) {
    return provider_result(key_size < 0 || size < 0 ||
                           sqlcipherkit_cipher(ctx, sqlcipherkit_kernels(), mode == SQLCIPHER_ENCRYPT, key,
                                               (size_t)key_size, iv, in, (size_t)size, out));
}

static int provider_key_size(void *ctx) {
    (void)ctx;
    return aes256_key_size;
}

/* The size of an initialisation vector, and of a block. */
static int provider_block_size(void *ctx) {
    (void)ctx;
    return aes_block_size;
}

static int provider_hmac_size(void *ctx, int algorithm) {
    (void)ctx;
    switch (algorithm) {
    case SQLCIPHER_HMAC_SHA1:
    case SQLCIPHER_HMAC_SHA256:
        return (int)sqlcipherkit_hash_size(algorithm);
    case SQLCIPHER_HMAC_SHA512:
        return sha512_digest_size;
    default:
        return 0;
    }
}

/* SQLCipher calls ctx_free even when ctx_init failed, so `*ctx` must then be NULL. */
static int provider_ctx_init(void **ctx) {
    *ctx = sqlcipherkit_state_create();
    return *ctx == NULL ? SQLITE_NOMEM : SQLITE_OK;
}

static int provider_ctx_free(void **ctx) {
    sqlcipherkit_state_destroy(*ctx);
    *ctx = NULL;
    return SQLITE_OK;
}

static int provider_fips_status(void *ctx) {
    (void)ctx;
    return 0;
}

/* Called once by sqlcipher_extra_init(), under SQLite's main mutex. */
int sqlcipherkit_provider_setup(sqlcipher_provider *provider) {
    provider->init = NULL;
    provider->shutdown = NULL;
    provider->get_provider_name = provider_name;
    provider->get_provider_version = provider_version;
    provider->random = provider_random;
    provider->add_random = provider_add_random;
    provider->hmac = provider_hmac;
    provider->kdf = provider_kdf;
    provider->cipher = provider_cipher;
    provider->get_cipher = provider_cipher_name;
    provider->get_key_sz = provider_key_size;
    provider->get_iv_sz = provider_block_size;
    provider->get_block_sz = provider_block_size;
    provider->get_hmac_sz = provider_hmac_size;
    provider->ctx_init = provider_ctx_init;
    provider->ctx_free = provider_ctx_free;
    provider->fips_status = provider_fips_status;
#if SQLITE_OS_UNIX
    sqlcipherkit_layer->xSetSystemCall(sqlcipherkit_layer, "pread", (sqlite3_syscall_ptr)sqlcipherkit_noted_pread);
#endif
    return SQLITE_OK;
}
