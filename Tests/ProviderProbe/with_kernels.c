/* See with_kernels.h. */
#include "with_kernels.h"

#include <string.h>

int probe_sha512(unsigned features, const uint8_t *data, size_t size, uint8_t digest[64]) {
    uint64_t state[8];
    memcpy(state, sqlcipherkit_sha512_start, sizeof state);
    sqlcipherkit_sha512_finish(sqlcipherkit_kernels_for(features).sha512, state, 0, data, size, NULL, 0);
    sqlcipherkit_sha512_put(digest, state);
    return 0;
}

int probe_hmac(unsigned features, int algorithm, const uint8_t *key, size_t key_size,
               const uint8_t *first, size_t first_size, const uint8_t *second, size_t second_size,
               uint8_t *mac) {
    return sqlcipherkit_hmac(NULL, sqlcipherkit_kernels_for(features), algorithm, key, key_size, first, first_size,
                             second, second_size, mac);
}

int probe_pbkdf2(unsigned features, int algorithm, const uint8_t *password, size_t password_size,
                 const uint8_t *salt, size_t salt_size, uint32_t iterations, uint8_t *out, size_t size) {
    return sqlcipherkit_pbkdf2(NULL, sqlcipherkit_kernels_for(features), algorithm, password, password_size, salt,
                               salt_size, iterations, out, size);
}

int probe_aes_cbc(unsigned features, int encrypt, const uint8_t key[32], const uint8_t iv[16],
                  const uint8_t *in, size_t size, uint8_t *out) {
    return sqlcipherkit_cipher(NULL, sqlcipherkit_kernels_for(features), encrypt, key, aes256_key_size, iv, in, size,
                               out);
}

int probe_pages(unsigned features, const uint8_t key[32], const uint8_t mac_key[32], const uint8_t *ivs,
                const uint8_t *in, size_t size, size_t pages, uint8_t *out, uint8_t *macs,
                void (*meddle)(uint8_t *page, size_t size)) {
    struct sqlcipherkit_kernels kernels = sqlcipherkit_kernels_for(features);
    struct sqlcipherkit_state *state = sqlcipherkit_state_create();
    int failed = state == NULL;
    for (size_t i = 0; i < pages && !failed; i++) {
        const uint8_t number[4] = {(uint8_t)i, (uint8_t)(i >> 8), (uint8_t)(i >> 16), (uint8_t)(i >> 24)};
        uint8_t *page = out + i * size;
        failed = sqlcipherkit_cipher(state, kernels, 1, key, aes256_key_size, ivs + i * aes_block_size, in + i * size,
                                     size, page) != 0;
        if (meddle != NULL) {
            meddle(page, size);
        }
        failed = failed || sqlcipherkit_hmac(state, kernels, SQLCIPHERKIT_SHA512, mac_key, 32, page, size, number,
                                             sizeof number, macs + i * sha512_digest_size) != 0;
    }
    sqlcipherkit_state_destroy(state);
    return failed ? -1 : 0;
}

int probe_write_batch(unsigned features, const uint8_t key[32], const uint8_t mac_key[32], uint8_t *in,
                      size_t size, size_t pages, uint8_t *out,
                      void (*meddle)(uint8_t *in, size_t size, size_t pages, size_t next), size_t *prepared) {
    enum { reserved = aes_block_size + sha512_digest_size };
    struct sqlcipherkit_kernels kernels = sqlcipherkit_kernels_for(features);
    struct sqlcipherkit_state *state = sqlcipherkit_state_create();
    int failed = state == NULL;
    *prepared = 0;
    for (size_t i = 0; i < pages && !failed; i++) {
        struct sqlcipherkit_pipeline *pipeline = sqlcipherkit_state_pipeline(state);
        const uint32_t name = (uint32_t)i + 2;
        const uint8_t number[4] = {(uint8_t)name, (uint8_t)(name >> 8), (uint8_t)(name >> 16), (uint8_t)(name >> 24)};
        uint8_t *page = out + i * (size + reserved);
        if (meddle != NULL) {
            meddle(in, size, pages, i);
        }
        struct sqlcipherkit_write_batch *write =
            sqlcipherkit_pipeline_begin(pipeline, to_database, kernels, name, in + i * size, size);
        for (size_t next = i + 1; write != NULL && next < pages; next++) {
            if (!sqlcipherkit_write_batch_offer(write, (uint32_t)next + 2, in + next * size)) {
                break;
            }
        }
        *prepared += sqlcipherkit_batch_find(&pipeline->writing->batch, name) != not_in_batch;
        failed = sqlcipherkit_random_bytes(state, page + size, reserved) != 0 ||
                 sqlcipherkit_cipher(state, kernels, 1, key, aes256_key_size, page + size, in + i * size, size, page) != 0 ||
                 sqlcipherkit_hmac(state, kernels, SQLCIPHERKIT_SHA512, mac_key, 32, page, size + aes_block_size, number,
                                   sizeof number, page + size + aes_block_size) != 0;
        sqlcipherkit_pipeline_end(pipeline);
    }
    sqlcipherkit_state_destroy(state);
    return failed ? -1 : 0;
}
