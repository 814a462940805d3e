/* See write_batch.h. */
#include "write_batch.h"
#include "../../System/secure.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(batch_most == aes_many, "one page, one lane");

/* Fewer pages than this take as long together as one after the other. */
enum { least_batch = 3 };

static uint8_t *plaintext_at(const struct sqlcipherkit_write_batch *write, int index) {
    return write->plaintexts + (size_t)index * write->batch.room;
}

/* The page leaves the batch. */
static void drop_page(struct sqlcipherkit_write_batch *write, int index) {
    write->batch.numbers[index] = 0;
    sqlcipherkit_wipe(plaintext_at(write, index), write->batch.room);
}

void sqlcipherkit_write_batch_drop(struct sqlcipherkit_write_batch *write) {
    for (int i = 0; i < (int)write->batch.count; i++) {
        if (write->batch.numbers[i] != 0) {
            drop_page(write, i);
        }
    }
    write->batch.stage = batch_empty;
    write->batch.count = 0;
}

void sqlcipherkit_write_batch_free(struct sqlcipherkit_write_batch *write) {
    sqlcipherkit_write_batch_drop(write);
    sqlcipherkit_batch_free(&write->batch);
    free(write->plaintexts);
    write->plaintexts = NULL;
}

int sqlcipherkit_write_batch_begin(struct sqlcipherkit_write_batch *write, struct sqlcipherkit_kernels kernels,
                                   uint32_t number, const uint8_t *bytes, size_t size) {
    write->run = number == write->number + 1 ? write->run + 1 : 1;
    write->number = number;
    write->bytes = bytes;
    write->size = size;
    const int index = sqlcipherkit_batch_find(&write->batch, number);
    if (index != not_in_batch) {
        if (write->batch.size == size + aes_block_size && memcmp(bytes, plaintext_at(write, index), size) == 0) {
            return 0;
        }
        drop_page(write, index);
    }
    return sqlcipherkit_kernels_have_many(kernels);
}

/* Begins a new batch, for pages of the size that was begun. Returns 0, or -1 without memory. */
static int reserve(struct sqlcipherkit_write_batch *write) {
    const size_t before = write->batch.room;
    const size_t room = write->size + aes_block_size;
    sqlcipherkit_write_batch_drop(write);
    if (sqlcipherkit_batch_reserve(&write->batch, room) != 0) {
        return -1;
    }
    if (before != room || write->plaintexts == NULL) {
        free(write->plaintexts);
        write->plaintexts = malloc(batch_most * room);
    }
    return write->plaintexts == NULL ? -1 : 0;
}

static void collect(struct sqlcipherkit_write_batch *write, uint32_t number, const uint8_t *bytes) {
    const int index = (int)write->batch.count++;
    write->batch.numbers[index] = number;
    memcpy(plaintext_at(write, index), bytes, write->size);
}

int sqlcipherkit_write_batch_offer(struct sqlcipherkit_write_batch *write, uint32_t number, const uint8_t *bytes) {
    if (write->batch.stage != batch_collecting) {
        if (reserve(write) != 0) {
            return 0;
        }
        write->batch.stage = batch_collecting;
        collect(write, write->number, write->bytes);
    }
    collect(write, number, bytes);
    return write->batch.count < batch_most;
}

void sqlcipherkit_write_batch_end(struct sqlcipherkit_write_batch *write) {
    const int index = sqlcipherkit_batch_find(&write->batch, write->number);
    if (index != not_in_batch) {
        drop_page(write, index);
    } else if (write->batch.stage == batch_collecting) {
        sqlcipherkit_write_batch_drop(write);
    }
    write->bytes = NULL;
}

int sqlcipherkit_write_batch_vector(const struct sqlcipherkit_write_batch *write, uint8_t *out, size_t size) {
    const int index = sqlcipherkit_batch_find(&write->batch, write->number);
    if (index == not_in_batch || size != aes_block_size + sha512_digest_size) {
        return 0;
    }
    memset(out, 0, size);
    memcpy(out, sqlcipherkit_batch_page(&write->batch, index) + write->size, aes_block_size);
    return 1;
}

/* Encrypts the collected pages: the first, which is being written, with the given initialisation vector, and each other page with
 * one drawn here. Returns 0 if there are no random bytes. */
static int encrypt_collected(struct sqlcipherkit_write_batch *write, const struct sqlcipherkit_aes_kernel *kernel,
                             const struct sqlcipherkit_aes_schedule *schedule, int cipher_slot, const uint8_t *iv) {
    struct sqlcipherkit_page_batch *batch = &write->batch;
    const size_t size = write->size;
    const uint8_t *in[batch_most];
    uint8_t *out[batch_most];
    uint8_t ivs[batch_most][aes_block_size];
    if (sqlcipherkit_system_random(ivs[1], (batch->count - 1) * sizeof ivs[1]) != 0) {
        return 0;
    }
    memcpy(ivs[0], iv, sizeof ivs[0]);
    for (int i = 0; i < batch_most; i++) {
        /* Lanes without a page repeat the first page. */
        const int index = i < (int)batch->count ? i : 0;
        in[i] = plaintext_at(write, index);
        out[i] = sqlcipherkit_batch_page(batch, index);
        memcpy(out[i] + size, ivs[index], sizeof ivs[index]);
    }
    kernel->encrypt_cbc_many(schedule, in, size, out);
    batch->size = size + aes_block_size;
    batch->stage = batch_encrypted;
    write->cipher_slot = cipher_slot;
    return 1;
}

int sqlcipherkit_write_batch_encrypt(struct sqlcipherkit_write_batch *write, const struct sqlcipherkit_aes_kernel *kernel,
                                     const struct sqlcipherkit_aes_schedule *schedule, int cipher_slot, uint8_t *out) {
    const struct sqlcipherkit_page_batch *batch = &write->batch;
    if (batch->stage == batch_collecting && cipher_slot >= 0 && batch->count >= least_batch &&
        kernel->encrypt_cbc_many != NULL) {
        (void)encrypt_collected(write, kernel, schedule, cipher_slot, out + write->size);
    }
    const int index = sqlcipherkit_batch_find(batch, write->number);
    if (index == not_in_batch || write->cipher_slot != cipher_slot) {
        return 0;
    }
    memcpy(out, sqlcipherkit_batch_page(batch, index), batch->size);
    return 1;
}

int sqlcipherkit_write_batch_mac(struct sqlcipherkit_write_batch *write, const struct sqlcipherkit_sha512_kernel *kernel,
                                 const struct sqlcipherkit_sha512_pads *pads, int mac_slot, uint32_t number,
                                 const uint8_t *in, size_t size, uint8_t mac[64]) {
    struct sqlcipherkit_page_batch *batch = &write->batch;
    if (mac_slot < 0 || sqlcipherkit_batch_find(batch, number) == not_in_batch) {
        return 0;
    }
    if (batch->stage == batch_encrypted && kernel->compress_many != NULL) {
        sqlcipherkit_batch_authenticate(batch, kernel, pads, mac_slot);
        sqlcipherkit_wipe_stack();
    }
    return sqlcipherkit_batch_mac(batch, mac_slot, number, in, size, mac);
}
