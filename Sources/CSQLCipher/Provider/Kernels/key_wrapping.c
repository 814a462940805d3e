/* key_wrapping.h. */
#include "kernels.h"
#include "../Primitives/chacha20_poly1305.h"
#include "../../System/secure.h"
#include "../../include/key_wrapping.h"
#include "../../include/options.h"
#include "../../include/symbols.h"
#include "../../../../Vendor/sqlcipher/sqlite3.h"

int sqlcipherkit_seal(const void *key, const void *nonce, const void *associated, size_t associated_count,
                      const void *plain, size_t count, void *sealed, void *tag) {
    const struct sqlcipherkit_chacha20_key with = {key, nonce, associated, associated_count};
    const int rc = sqlcipherkit_chacha20_poly1305_seal(&with, plain, count, sealed, tag);
    /* The key, and values derived from it, are left in stack frames. */
    sqlcipherkit_wipe_stack();
    return rc;
}

int sqlcipherkit_unseal(const void *key, const void *nonce, const void *associated, size_t associated_count,
                        const void *sealed, size_t count, const void *tag, void *plain) {
    const struct sqlcipherkit_chacha20_key with = {key, nonce, associated, associated_count};
    const int rc = sqlcipherkit_chacha20_poly1305_open(&with, sealed, count, tag, plain);
    if (rc != SQLITE_OK) sqlcipherkit_wipe(plain, count);
    sqlcipherkit_wipe_stack();
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
