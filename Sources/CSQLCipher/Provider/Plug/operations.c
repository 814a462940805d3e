/* The provider's calls. */
#include "operations.h"
#include "../../System/secure.h"

static int is_known(int algorithm) {
    return algorithm == SQLCIPHERKIT_SHA1 || algorithm == SQLCIPHERKIT_SHA256 || algorithm == SQLCIPHERKIT_SHA512;
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
        if (!encrypting) {
            kernels.aes->decrypt_cbc(&ready.schedule, iv, in, size, out);
        } else if (state != NULL) {
            sqlcipherkit_pipeline_encrypt(state, kernels, key, &ready, iv, in, size, out);
        } else {
            kernels.aes->encrypt_cbc(&ready.schedule, iv, in, size, out);
        }
    }
    sqlcipherkit_wipe(&ready, sizeof ready);
    /* The first round keys are the key itself. An encryption is followed by the HMAC, which wipes the stack afterwards. */
    if (encrypting) {
        sqlcipherkit_wipe_registers();
    } else {
        sqlcipherkit_wipe_stack_near();
    }
    return failed ? -1 : 0;
}

int sqlcipherkit_random_bytes(struct sqlcipherkit_state *state, uint8_t *out, size_t size) {
    if (state != NULL && sqlcipherkit_pipeline_vector(sqlcipherkit_state_pipeline(state), out, size)) {
        return 0;
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
    if (algorithm != SQLCIPHERKIT_SHA512) {
        sqlcipherkit_small_hmac(algorithm, &ready.pads.small, first, first_size, second, second_size, mac);
    } else if (state != NULL) {
        sqlcipherkit_pipeline_authenticate(state, kernels, &ready, first, first_size, second, second_size, mac);
    } else {
        sqlcipherkit_hmac_sha512(kernels.sha512, &ready.pads.sha512, NULL, 0, first, first_size, second, second_size, mac);
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
