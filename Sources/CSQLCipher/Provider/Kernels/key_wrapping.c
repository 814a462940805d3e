/* key_wrapping.h, on LibTomCrypt. */
#include <tomcrypt.h>
#include "kernels.h"
#include "../../System/secure.h"
#include "../../include/key_wrapping.h"
#include "../../include/options.h"
#include "../../include/symbols.h"
#include "../../../../Vendor/sqlcipher/sqlite3.h"

static int result_of(int error) {
    switch (error) {
    case CRYPT_OK: return SQLITE_OK;
    case CRYPT_MEM: return SQLITE_NOMEM;
    default: return SQLITE_ERROR;
    }
}

/* One direction or the other. The library's own one-call form differs between versions in whether it compares the tag, so the
 * tag is only computed here, over whichever side is the ciphertext. */
static int run(const void *key, const void *nonce, const void *associated, size_t associated_count, const void *in,
               size_t count, void *out, unsigned char *tag, int sealing) {
    chacha20poly1305_state state;
    unsigned long tag_count = SQLCIPHERKIT_SEAL_TAG;
    int error = chacha20poly1305_init(&state, key, SQLCIPHERKIT_SEAL_KEY);
    if (error == CRYPT_OK) error = chacha20poly1305_setiv(&state, nonce, SQLCIPHERKIT_SEAL_NONCE);
    if (error == CRYPT_OK && associated_count > 0) error = chacha20poly1305_add_aad(&state, associated, associated_count);
    if (error == CRYPT_OK) {
        error = sealing ? chacha20poly1305_encrypt(&state, in, count, out) : chacha20poly1305_decrypt(&state, in, count, out);
    }
    if (error == CRYPT_OK) error = chacha20poly1305_done(&state, tag, &tag_count);
    sqlcipherkit_wipe(&state, sizeof state);
    /* The library keeps the key, and what it makes of it, in frames of its own. */
    sqlcipherkit_wipe_stack();
    return result_of(error);
}

int sqlcipherkit_seal(const void *key, const void *nonce, const void *associated, size_t associated_count,
                      const void *plain, size_t count, void *sealed, void *tag) {
    return run(key, nonce, associated, associated_count, plain, count, sealed, tag, 1);
}

int sqlcipherkit_unseal(const void *key, const void *nonce, const void *associated, size_t associated_count,
                        const void *sealed, size_t count, const void *tag, void *plain) {
    unsigned char computed[SQLCIPHERKIT_SEAL_TAG] = {0};
    int rc = run(key, nonce, associated, associated_count, sealed, count, plain, computed, 0);
    if (rc == SQLITE_OK && !sqlcipherkit_equal(computed, tag, sizeof computed)) rc = SQLITE_AUTH;
    if (rc != SQLITE_OK) sqlcipherkit_wipe(plain, count);
    sqlcipherkit_wipe(computed, sizeof computed);
    return rc;
}

int sqlcipherkit_mac(const void *key, size_t key_count, const void *bytes, size_t count, void *mac) {
    if (key_count > sha512_block_size) return SQLITE_MISUSE;
    const struct sqlcipherkit_sha512_kernel *kernel = sqlcipherkit_kernels().sha512;
    struct sqlcipherkit_sha512_pads pads;
    sqlcipherkit_hmac_sha512_pads(kernel, key, key_count, &pads);
    sqlcipherkit_hmac_sha512(kernel, &pads, NULL, 0, bytes, count, NULL, 0, mac);
    sqlcipherkit_wipe(&pads, sizeof pads);
    sqlcipherkit_wipe_stack();
    return SQLITE_OK;
}

int sqlcipherkit_equal(const void *a, const void *b, size_t count) {
    const volatile unsigned char *left = a, *right = b;
    unsigned char difference = 0;
    for (size_t i = 0; i < count; i++) difference |= left[i] ^ right[i];
    return difference == 0;
}
