/* What one call of the provider does. */
#include "operations.h"
#include "../../System/secure.h"
#include "../../include/provider.h"

#include <string.h>

/* A page smaller than this is not worth a second set of tables. */
enum { least_woven = 1024 };

static int is_known(int algorithm) {
    return algorithm == SQLCIPHERKIT_SHA1 || algorithm == SQLCIPHERKIT_SHA256 || algorithm == SQLCIPHERKIT_SHA512;
}

/* Takes the ciphertext of an original, on its way to the rollback journal, from what was read of it: if that decrypts to
 * what is to be encrypted. Returns whether it does. */
static int take_as_read(struct sqlcipherkit_state *state, struct sqlcipherkit_kernels kernels, const uint8_t *key,
                        uint32_t number, const uint8_t *in, size_t size, uint8_t *out) {
    const struct sqlcipherkit_pages *pages = &sqlcipherkit_state_ahead(state)->pages;
    const uint32_t index = sqlcipherkit_pages_find(pages, number);
    if (index == pages->count || pages->size != size + aes_block_size) {
        return 0;
    }
    const uint8_t *page = sqlcipherkit_pages_at(pages, index);
    struct sqlcipherkit_ready_cipher ready;
    int is_known = sqlcipherkit_state_cipher(state, kernels.aes, key, 0, &ready) == 0;
    if (is_known) {
        kernels.aes->decrypt_cbc(&ready.schedule, page + size, page, size, out);
        is_known = memcmp(out, in, size) == 0;
    }
    sqlcipherkit_wipe(&ready, sizeof ready);
    if (is_known) {
        memcpy(out, page, size + aes_block_size);
    }
    return is_known;
}

/* Takes a page's ciphertext from what is known of it, or encrypts it with others. Returns whether it did either. */
static int take(struct sqlcipherkit_state *state, struct sqlcipherkit_kernels kernels, const uint8_t *key,
                const struct sqlcipherkit_ready_cipher *ready, const uint8_t iv[16], const uint8_t *in, size_t size,
                uint8_t *out) {
    for (int way = 0; state != NULL && way < ways; way++) {
        struct sqlcipherkit_together *together = sqlcipherkit_state_together(state, way);
        if (sqlcipherkit_together_concerns(together, in, size, iv, out)) {
            return (way == way_to_journal &&
                    take_as_read(state, kernels, key, together->number, in, size, out)) ||
                   sqlcipherkit_together_encrypt(together, kernels.aes, &ready->schedule, ready->slot, out);
        }
    }
    return 0;
}

/* Encrypts, and begins the HMAC if it is known which one will be asked for. */
static void encrypt(struct sqlcipherkit_state *state, struct sqlcipherkit_kernels kernels,
                    const struct sqlcipherkit_ready_cipher *ready, const uint8_t iv[16], const uint8_t *in, size_t size,
                    uint8_t *out) {
    uint64_t words[8];
    if (sqlcipherkit_kernels_can_weave(kernels) && size >= least_woven &&
        sqlcipherkit_state_foresee(state, ready->slot, size, words)) {
        size_t hashed = kernels.sha512->encrypt_and_compress(words, &ready->schedule, iv, in, size, out);
        sqlcipherkit_state_begun(state, ready->slot, out, hashed, words);
        sqlcipherkit_wipe(words, sizeof words);
    } else {
        kernels.aes->encrypt_cbc(&ready->schedule, iv, in, size, out);
        sqlcipherkit_state_begun(state, ready->slot, out, 0, NULL);
    }
}

int sqlcipherkit_cipher(struct sqlcipherkit_state *state, struct sqlcipherkit_kernels kernels, int encrypting,
                        const uint8_t *key, size_t key_size, const uint8_t iv[16], const uint8_t *in, size_t size,
                        uint8_t *out) {
    if (key_size != aes256_key_size || size % aes_block_size != 0) {
        return -1;
    }
    struct sqlcipherkit_ready_cipher ready;
    int failed = sqlcipherkit_state_cipher(state, kernels.aes, key, encrypting, &ready);
    if (!failed) {
        if (encrypting && take(state, kernels, key, &ready, iv, in, size, out)) {
            sqlcipherkit_state_begun(state, ready.slot, out, 0, NULL);
        } else if (encrypting) {
            encrypt(state, kernels, &ready, iv, in, size, out);
        } else {
            kernels.aes->decrypt_cbc(&ready.schedule, iv, in, size, out);
        }
    }
    sqlcipherkit_wipe(&ready, sizeof ready);
    return failed ? -1 : 0;
}

/* Takes a page's HMAC-SHA512 from what is known of it, or computes it with others'. Returns whether it did either. */
static int take_mac(struct sqlcipherkit_state *state, struct sqlcipherkit_kernels kernels,
                    const struct sqlcipherkit_ready_mac *ready, const uint8_t *in, size_t size, const uint8_t end[4],
                    uint8_t *mac) {
    const uint32_t number = (uint32_t)end[0] | (uint32_t)end[1] << 8 | (uint32_t)end[2] << 16 | (uint32_t)end[3] << 24;
    struct sqlcipherkit_ahead *ahead = sqlcipherkit_state_ahead(state);
    const struct sqlcipherkit_sha512_pads *pads = &ready->pads.sha512;
    for (int way = 0; way < ways; way++) {
        struct sqlcipherkit_together *together = sqlcipherkit_state_together(state, way);
        if (together->bytes != NULL) {
            return (way == way_to_journal &&
                    sqlcipherkit_pages_mac(&ahead->pages, ready->slot, number, in, size, mac)) ||
                   sqlcipherkit_together_mac(together, kernels.sha512, pads, ready->slot, number, in, size, mac);
        }
    }
    return sqlcipherkit_ahead_mac(ahead, kernels.sha512, pads, ready->slot, number, in, size, mac);
}

int sqlcipherkit_random_bytes(struct sqlcipherkit_state *state, uint8_t *out, size_t size) {
    for (int way = 0; state != NULL && way < ways; way++) {
        if (sqlcipherkit_together_vector(sqlcipherkit_state_together(state, way), out, size)) {
            return 0;
        }
    }
    return sqlcipherkit_system_random(out, size);
}

int sqlcipherkit_hmac(struct sqlcipherkit_state *state, struct sqlcipherkit_kernels kernels, int algorithm,
                      const uint8_t *key, size_t key_size, const uint8_t *first, size_t first_size,
                      const uint8_t *second, size_t second_size, uint8_t *mac) {
    if (!is_known(algorithm) || first == NULL || (second == NULL && second_size > 0)) {
        return -1;
    }
    struct sqlcipherkit_ready_mac ready;
    sqlcipherkit_state_mac(state, kernels.sha512, algorithm, key, key_size, &ready);
    if (algorithm == SQLCIPHERKIT_SHA512 && state != NULL && second_size == 4 &&
        take_mac(state, kernels, &ready, first, first_size, second, mac)) {
        sqlcipherkit_wipe(&ready, sizeof ready);
    } else if (algorithm == SQLCIPHERKIT_SHA512) {
        uint64_t words[8];
        size_t hashed = sqlcipherkit_state_resume(state, ready.slot, first, first_size, words);
        sqlcipherkit_hmac_sha512(kernels.sha512, &ready.pads.sha512, hashed > 0 ? words : NULL, hashed, first + hashed,
                                 first_size - hashed, second, second_size, mac);
    } else {
        sqlcipherkit_small_hmac(algorithm, &ready.pads.small, first, first_size, second, second_size, mac);
    }
    sqlcipherkit_wipe(&ready, sizeof ready);
    sqlcipherkit_wipe_stack_near();
    return 0;
}

int sqlcipherkit_pbkdf2(struct sqlcipherkit_state *state, struct sqlcipherkit_kernels kernels, int algorithm,
                        const uint8_t *password, size_t password_size, const uint8_t *salt, size_t salt_size,
                        uint32_t iterations, uint8_t *out, size_t size) {
    if (!is_known(algorithm) || iterations < 1) {
        return -1;
    }
    sqlcipherkit_state_forget(state);
    if (algorithm == SQLCIPHERKIT_SHA512) {
        sqlcipherkit_pbkdf2_sha512(kernels.sha512, password, password_size, salt, salt_size, iterations, out, size);
    } else {
        sqlcipherkit_small_pbkdf2(algorithm, password, password_size, salt, salt_size, iterations, out, size);
    }
    sqlcipherkit_wipe_stack();
    return 0;
}
