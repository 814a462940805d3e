/* ChaCha20-Poly1305 by OpenSSL's libcrypto. */
#include "chacha20_poly1305.h"

#if defined(SQLCIPHERKIT_USES_OPENSSL)
#include "../../include/sqlite.h"

#include <limits.h>
#include <openssl/evp.h>

int sqlcipherkit_chacha20_poly1305_seal(const struct sqlcipherkit_chacha20_key *with, const uint8_t *plain, size_t count,
                                        uint8_t *sealed, uint8_t tag[16]) {
    if (with->associated_count > INT_MAX || count > INT_MAX) return SQLITE_ERROR;
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    if (context == NULL) return SQLITE_NOMEM;
    int written = 0;
    uint8_t none[16];
    const int done =
        EVP_EncryptInit_ex(context, EVP_chacha20_poly1305(), NULL, with->key, with->nonce) == 1 &&
        (with->associated_count == 0 ||
         EVP_EncryptUpdate(context, NULL, &written, with->associated, (int)with->associated_count) == 1) &&
        (count == 0 || EVP_EncryptUpdate(context, sealed, &written, plain, (int)count) == 1) &&
        EVP_EncryptFinal_ex(context, none, &written) == 1 && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, tag) == 1;
    EVP_CIPHER_CTX_free(context);
    return done ? SQLITE_OK : SQLITE_ERROR;
}

int sqlcipherkit_chacha20_poly1305_open(const struct sqlcipherkit_chacha20_key *with, const uint8_t *sealed, size_t count,
                                        const uint8_t tag[16], uint8_t *plain) {
    if (with->associated_count > INT_MAX || count > INT_MAX) return SQLITE_ERROR;
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    if (context == NULL) return SQLITE_NOMEM;
    int written = 0;
    uint8_t none[16];
    const int done =
        EVP_DecryptInit_ex(context, EVP_chacha20_poly1305(), NULL, with->key, with->nonce) == 1 &&
        EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, 16, (void *)(uintptr_t)tag) == 1 &&
        (with->associated_count == 0 ||
         EVP_DecryptUpdate(context, NULL, &written, with->associated, (int)with->associated_count) == 1) &&
        (count == 0 || EVP_DecryptUpdate(context, plain, &written, sealed, (int)count) == 1);
    /* The last step compares the tag. */
    const int is_authentic = done && EVP_DecryptFinal_ex(context, none, &written) == 1;
    EVP_CIPHER_CTX_free(context);
    return is_authentic ? SQLITE_OK : done ? SQLITE_AUTH : SQLITE_ERROR;
}
#endif
