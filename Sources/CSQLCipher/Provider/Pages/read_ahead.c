/* See read_ahead.h. */
#ifdef __linux__
#define _DEFAULT_SOURCE 1
#endif

#include "read_ahead.h"
#include "../../System/secure.h"

#include <string.h>
#include <unistd.h>

enum {
    /* The number of pages, read in order, that counts as a scan. */
    least_run = 3,
    least_size = 512,
    greatest_size = 65536,
};

/* This thread's last read. It counts for only one HMAC, and only if SQLCipher passes in the same memory that was read to: anything
 * else that is hashed, above all a page being written, has another address or was requested before. */
static _Thread_local struct {
    int file;
    const uint8_t *bytes;
    size_t size;
    off_t offset;
} last_read;

#if defined(_WIN32)
/* SQLite uses other calls to read there, so nothing is ever noted or read ahead. */
static ssize_t pread(int file, void *bytes, size_t size, off_t offset) {
    (void)file;
    (void)bytes;
    (void)size;
    (void)offset;
    return -1;
}
#endif

ssize_t sqlcipherkit_noted_pread(int file, void *bytes, size_t size, off_t offset) {
    last_read.file = file;
    last_read.bytes = bytes;
    last_read.size = size;
    last_read.offset = offset;
    return pread(file, bytes, size, offset);
}

void sqlcipherkit_read_ahead_drop(struct sqlcipherkit_read_ahead *ahead) {
    ahead->batch.stage = batch_empty;
    ahead->batch.count = 0;
    ahead->run = 0;
}

/* Fills the batch with page `number`, which is at `in`, and the pages after it in the file. Returns whether there are
 * enough of them. */
static int read_pages(struct sqlcipherkit_page_batch *batch, uint32_t number, const uint8_t *in, size_t size) {
    const size_t page_size = last_read.size;
    if (sqlcipherkit_batch_reserve(batch, page_size) != 0) {
        return 0;
    }
    memcpy(batch->bytes, in, size);
    ssize_t got = pread(last_read.file, batch->bytes + page_size, (batch_most - 1) * page_size,
                        last_read.offset + (off_t)page_size);
    uint32_t count = 1 + (got > 0 ? (uint32_t)((size_t)got / page_size) : 0);
    if (count < batch_most / 2) {
        return 0; /* near the end of the file, the extra work would not pay */
    }
    for (uint32_t i = 0; i < count; i++) {
        batch->numbers[i] = number + i;
    }
    batch->count = count;
    batch->size = size;
    batch->stage = batch_encrypted;
    return 1;
}

int sqlcipherkit_read_ahead_mac(struct sqlcipherkit_read_ahead *ahead, const struct sqlcipherkit_sha512_kernel *kernel,
                                const struct sqlcipherkit_sha512_pads *pads, int mac_slot, uint32_t number,
                                const uint8_t *in, size_t size, uint8_t mac[64]) {
    const size_t page_size = last_read.size;
    /* Only a page that this thread has just read from its place in the database file, not from a log or a journal. */
    if (kernel->compress_many == NULL || mac_slot < 0 || number < 2 || in != last_read.bytes || size > page_size ||
        page_size < least_size || page_size > greatest_size ||
        last_read.offset != (off_t)(number - 1) * (off_t)page_size) {
        return 0;
    }
    last_read.bytes = NULL;
    ahead->run = number == ahead->last_page + 1 ? ahead->run + 1 : 1;
    ahead->last_page = number;
    if (sqlcipherkit_batch_mac(&ahead->batch, mac_slot, number, in, size, mac)) {
        return 1;
    }
    if (ahead->run < least_run || !read_pages(&ahead->batch, number, in, size)) {
        return 0;
    }
    sqlcipherkit_batch_authenticate(&ahead->batch, kernel, pads, mac_slot);
    sqlcipherkit_wipe_stack();
    return sqlcipherkit_batch_mac(&ahead->batch, mac_slot, number, in, size, mac);
}
