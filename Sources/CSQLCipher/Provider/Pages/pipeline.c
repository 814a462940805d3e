/* See pipeline.h. */
#include "pipeline.h"
#include "../Plug/state.h"
#include "../../System/secure.h"

#include <stdlib.h>
#include <string.h>

/* In bytes. For less than this, setting up the stitched kernel's tables does not pay. */
enum { least_stitched = 1024 };

void sqlcipherkit_pipeline_free(struct sqlcipherkit_pipeline *pipeline) {
    for (int i = 0; i < destinations; i++) {
        sqlcipherkit_write_batch_free(&pipeline->batches[i]);
    }
    sqlcipherkit_batch_free(&pipeline->read_ahead.batch);
    free(pipeline->midstate.copy);
}

void sqlcipherkit_pipeline_drop_cipher(struct sqlcipherkit_pipeline *pipeline, int cipher_slot) {
    sqlcipherkit_midstate_drop_cipher(&pipeline->midstate, cipher_slot);
    for (int i = 0; i < destinations; i++) {
        struct sqlcipherkit_write_batch *write = &pipeline->batches[i];
        if (write->batch.stage >= batch_encrypted && write->cipher_slot == cipher_slot) {
            sqlcipherkit_write_batch_drop(write);
        }
    }
}

void sqlcipherkit_pipeline_drop_mac(struct sqlcipherkit_pipeline *pipeline, int mac_slot) {
    sqlcipherkit_midstate_drop_mac(&pipeline->midstate, mac_slot);
    if (pipeline->read_ahead.batch.mac_slot == mac_slot) {
        sqlcipherkit_read_ahead_drop(&pipeline->read_ahead);
    }
    for (int i = 0; i < destinations; i++) {
        struct sqlcipherkit_write_batch *write = &pipeline->batches[i];
        if (write->batch.stage == batch_authenticated && write->batch.mac_slot == mac_slot) {
            sqlcipherkit_write_batch_drop(write);
        }
    }
}

struct sqlcipherkit_write_batch *sqlcipherkit_pipeline_begin(struct sqlcipherkit_pipeline *pipeline,
                                                          enum sqlcipherkit_destination destination,
                                                          struct sqlcipherkit_kernels kernels, uint32_t number,
                                                          const uint8_t *bytes, size_t size) {
    pipeline->writing = &pipeline->batches[destination];
    return sqlcipherkit_write_batch_begin(pipeline->writing, kernels, number, bytes, size) ? pipeline->writing : NULL;
}

void sqlcipherkit_pipeline_end(struct sqlcipherkit_pipeline *pipeline) {
    sqlcipherkit_write_batch_end(pipeline->writing);
    pipeline->writing = NULL;
}

int sqlcipherkit_pipeline_vector(const struct sqlcipherkit_pipeline *pipeline, uint8_t *out, size_t size) {
    return pipeline->writing != NULL && sqlcipherkit_write_batch_vector(pipeline->writing, out, size);
}

static int is_original(const struct sqlcipherkit_pipeline *pipeline) {
    return pipeline->writing == &pipeline->batches[to_journal];
}

/* Returns whether the bytes to encrypt are those of the page that was begun. */
static int is_begun(const struct sqlcipherkit_pipeline *pipeline, const uint8_t iv[16], const uint8_t *in, size_t size,
                    const uint8_t *out) {
    return pipeline->writing != NULL && pipeline->writing->bytes == in && pipeline->writing->size == size && iv == out + size;
}

/* Reuses an original's ciphertext and vector as they were read from the database, if they decrypt to the bytes to encrypt. Then the
 * journal has the same bytes as the file, under the same key. Returns whether it did so. */
static int take_as_read(struct sqlcipherkit_state *state, struct sqlcipherkit_kernels kernels, const uint8_t *key,
                        const uint8_t *in, size_t size, uint8_t *out) {
    const struct sqlcipherkit_pipeline *pipeline = sqlcipherkit_state_pipeline(state);
    const struct sqlcipherkit_page_batch *batch = &pipeline->read_ahead.batch;
    const int index = is_original(pipeline) ? sqlcipherkit_batch_find(batch, pipeline->writing->number) : not_in_batch;
    if (index == not_in_batch || batch->size != size + aes_block_size) {
        return 0;
    }
    const uint8_t *page = sqlcipherkit_batch_page(batch, index);
    struct sqlcipherkit_ready_cipher ready;
    int is_same = sqlcipherkit_state_cipher(state, kernels.aes, key, 0, &ready) == 0;
    if (is_same) {
        kernels.aes->decrypt_cbc(&ready.schedule, page + size, page, size, out);
        is_same = memcmp(out, in, size) == 0;
    }
    sqlcipherkit_wipe(&ready, sizeof ready);
    if (is_same) {
        memcpy(out, page, size + aes_block_size);
    }
    return is_same;
}

/* Encrypts this page alone, and hashes it in the same pass if it is known which HMAC will be requested. */
static void encrypt_alone(struct sqlcipherkit_state *state, struct sqlcipherkit_kernels kernels,
                          const struct sqlcipherkit_ready_cipher *ready, const uint8_t iv[16], const uint8_t *in,
                          size_t size, uint8_t *out) {
    struct sqlcipherkit_midstate *midstate = &sqlcipherkit_state_pipeline(state)->midstate;
    const int mac_slot = midstate->mac_slot_after[ready->slot];
    if (sqlcipherkit_kernels_can_stitch(kernels) && size >= least_stitched && mac_slot != no_slot &&
        sqlcipherkit_midstate_reserve(midstate, size) == 0) {
        uint64_t words[8];
        sqlcipherkit_state_inner_pad(state, mac_slot, words);
        size_t hashed = kernels.sha512->encrypt_and_compress(words, &ready->schedule, iv, in, size, out);
        sqlcipherkit_midstate_keep(midstate, ready->slot, out, hashed, words);
        sqlcipherkit_wipe(words, sizeof words);
    } else {
        kernels.aes->encrypt_cbc(&ready->schedule, iv, in, size, out);
        sqlcipherkit_midstate_keep(midstate, ready->slot, out, 0, NULL);
    }
}

void sqlcipherkit_pipeline_encrypt(struct sqlcipherkit_state *state, struct sqlcipherkit_kernels kernels, const uint8_t *key,
                                const struct sqlcipherkit_ready_cipher *ready, const uint8_t iv[16], const uint8_t *in,
                                size_t size, uint8_t *out) {
    struct sqlcipherkit_pipeline *pipeline = sqlcipherkit_state_pipeline(state);
    sqlcipherkit_midstate_drop(&pipeline->midstate);
    if (is_begun(pipeline, iv, in, size, out) &&
        (take_as_read(state, kernels, key, in, size, out) ||
         sqlcipherkit_write_batch_encrypt(pipeline->writing, kernels.aes, &ready->schedule, ready->slot, out))) {
        return;
    }
    encrypt_alone(state, kernels, ready, iv, in, size, out);
}

/* Uses a known HMAC of a page, or computes it together with those of others. Returns whether it did either. */
static int take_mac(struct sqlcipherkit_pipeline *pipeline, const struct sqlcipherkit_sha512_kernel *kernel,
                    const struct sqlcipherkit_ready_mac *ready, const uint8_t *in, size_t size, const uint8_t end[4],
                    uint8_t mac[64]) {
    const uint32_t number = (uint32_t)end[0] | (uint32_t)end[1] << 8 | (uint32_t)end[2] << 16 | (uint32_t)end[3] << 24;
    const struct sqlcipherkit_sha512_pads *pads = &ready->pads.sha512;
    if (pipeline->writing == NULL) {
        return sqlcipherkit_read_ahead_mac(&pipeline->read_ahead, kernel, pads, ready->slot, number, in, size, mac);
    }
    return (is_original(pipeline) &&
            sqlcipherkit_batch_mac(&pipeline->read_ahead.batch, ready->slot, number, in, size, mac)) ||
           sqlcipherkit_write_batch_mac(pipeline->writing, kernel, pads, ready->slot, number, in, size, mac);
}

void sqlcipherkit_pipeline_authenticate(struct sqlcipherkit_state *state, struct sqlcipherkit_kernels kernels,
                                     const struct sqlcipherkit_ready_mac *ready, const uint8_t *first, size_t first_size,
                                     const uint8_t *second, size_t second_size, uint8_t mac[64]) {
    struct sqlcipherkit_pipeline *pipeline = sqlcipherkit_state_pipeline(state);
    if (second_size == 4 && take_mac(pipeline, kernels.sha512, ready, first, first_size, second, mac)) {
        return;
    }
    uint64_t words[8];
    const size_t hashed = sqlcipherkit_midstate_take(&pipeline->midstate, ready->slot, first, first_size, words);
    sqlcipherkit_hmac_sha512(kernels.sha512, &ready->pads.sha512, hashed > 0 ? words : NULL, hashed, first + hashed,
                             first_size - hashed, second, second_size, mac);
    sqlcipherkit_wipe(words, sizeof words);
}
