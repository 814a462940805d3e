/* ChaCha20-Poly1305 by LibTomCrypt. */
#include "chacha20_poly1305.h"

#if defined(SQLCIPHERKIT_USES_LIBTOMCRYPT)
#include "../../System/secure.h"
#include "../../include/key_wrapping.h"
#include "../../include/sqlite.h"

#include <tomcrypt.h>

static int result_of(int error) {
    switch (error) {
    case CRYPT_OK: return SQLITE_OK;
    case CRYPT_MEM: return SQLITE_NOMEM;
    default: return SQLITE_ERROR;
    }
}

/* Encrypts or decrypts. Versions of the library differ in whether its one-call form compares the tag, so the tag is only computed
 * here, over the side that is the ciphertext. */
static int run(const struct sqlcipherkit_chacha20_key *with, const uint8_t *in, size_t count, uint8_t *out, uint8_t tag[16],
               int sealing) {
    chacha20poly1305_state state;
    unsigned long tag_count = 16;
    int error = chacha20poly1305_init(&state, with->key, 32);
    if (error == CRYPT_OK) error = chacha20poly1305_setiv(&state, with->nonce, 12);
    if (error == CRYPT_OK && with->associated_count > 0) {
        error = chacha20poly1305_add_aad(&state, with->associated, with->associated_count);
    }
    if (error == CRYPT_OK) {
        error = sealing ? chacha20poly1305_encrypt(&state, in, count, out) : chacha20poly1305_decrypt(&state, in, count, out);
    }
    if (error == CRYPT_OK) error = chacha20poly1305_done(&state, tag, &tag_count);
    sqlcipherkit_wipe(&state, sizeof state);
    return result_of(error);
}

int sqlcipherkit_chacha20_poly1305_seal(const struct sqlcipherkit_chacha20_key *with, const uint8_t *plain, size_t count,
                                        uint8_t *sealed, uint8_t tag[16]) {
    return run(with, plain, count, sealed, tag, 1);
}

int sqlcipherkit_chacha20_poly1305_open(const struct sqlcipherkit_chacha20_key *with, const uint8_t *sealed, size_t count,
                                        const uint8_t tag[16], uint8_t *plain) {
    uint8_t computed[16] = {0};
    int rc = run(with, sealed, count, plain, computed, 0);
    if (rc == SQLITE_OK && !sqlcipherkit_equal(computed, tag, sizeof computed)) rc = SQLITE_AUTH;
    sqlcipherkit_wipe(computed, sizeof computed);
    return rc;
}
#endif
