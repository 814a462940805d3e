/* Pages in a row with one connection's state: the encryption that hashes in the same pass gives what the separate steps give,
 * also when the page changes between them; and so does the encryption of several pages at once, also when those that were
 * prepared change before their turn. What was prepared with one key is not used with another. */
#include "probe.h"
#include "with_kernels.h"

#include "CSQLCipher.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { pages = 4 };

/* Changes one byte of the ciphertext, at different places in different pages. */
static void meddle(uint8_t *page, size_t size) {
    if (size > 0) {
        page[page[0] % size] ^= 0x40;
    }
}

static int check(const struct kernel_set *set, size_t size, void (*change)(uint8_t *, size_t)) {
    uint64_t seed = size;
    uint8_t key[32], mac_key[32], ivs[16 * pages], macs[64 * pages], mac[64];
    uint8_t *in = malloc(size * pages + 1), *out = malloc(size * pages + 1), *wanted = malloc(size + 1);
    int wrong = 0;
    fill_numbers(&seed, key, sizeof key);
    fill_numbers(&seed, mac_key, sizeof mac_key);
    fill_numbers(&seed, ivs, sizeof ivs);
    fill_numbers(&seed, in, size * pages);
    wrong |= probe_pages(set->features, key, mac_key, ivs, in, size, pages, out, macs, change) != 0;
    for (size_t i = 0; i < pages; i++) {
        const uint8_t number[4] = {(uint8_t)i, 0, 0, 0};
        probe_aes_cbc(0, 1, key, ivs + 16 * i, in + i * size, size, wanted);
        if (change != NULL) {
            change(wanted, size);
        }
        probe_hmac(0, SQLCIPHERKIT_SHA512, mac_key, sizeof mac_key, wanted, size, number, 4, mac);
        wrong |= memcmp(wanted, out + i * size, size) != 0 || memcmp(mac, macs + 64 * i, sizeof mac) != 0;
    }
    free(in);
    free(out);
    free(wanted);
    if (wrong) {
        printf("%s: pages of %zu bytes%s: wrong\n", set->name, size, change ? ", changed before the HMAC" : "");
    }
    return wrong;
}

/* Changes a page that has been prepared by now, in one byte: each third one. */
static void meddle_with_plaintext(uint8_t *in, size_t size, size_t count, size_t next) {
    if (next % 3 == 1 && next < count) {
        in[next * size + (next * 37) % size] ^= 0x01;
    }
}

/* The number of `count` pages that have been prepared with a page before them: eight at a time, but never fewer than three. */
static size_t prepared_of(size_t count) {
    return count / 8 * 7 + (count % 8 >= 3 ? count % 8 - 1 : 0);
}

static int check_batches(const struct kernel_set *set, size_t size, size_t count, int is_meddling) {
    const size_t whole = size + 80;
    uint64_t seed = size + count;
    uint8_t key[32], mac_key[32], mac[64];
    uint8_t *in = malloc(size * count), *out = malloc(whole * count), *plain = malloc(size);
    size_t prepared = 0;
    int wrong = 0;
    fill_numbers(&seed, key, sizeof key);
    fill_numbers(&seed, mac_key, sizeof mac_key);
    fill_numbers(&seed, in, size * count);
    wrong |= probe_write_batch(set->features, key, mac_key, in, size, count, out,
                               is_meddling ? meddle_with_plaintext : NULL, &prepared) != 0;
    for (size_t i = 0; i < count; i++) {
        const uint8_t number[4] = {(uint8_t)(i + 2), (uint8_t)((i + 2) >> 8), 0, 0};
        const uint8_t *page = out + i * whole;
        probe_aes_cbc(0, 0, key, page + size, page, size, plain);
        probe_hmac(0, SQLCIPHERKIT_SHA512, mac_key, sizeof mac_key, page, size + 16, number, 4, mac);
        wrong |= memcmp(plain, in + i * size, size) != 0 || memcmp(mac, page + size + 16, sizeof mac) != 0;
        for (size_t j = 0; j < i; j++) {
            wrong |= memcmp(page + size, out + j * whole + size, 16) == 0;
        }
    }
    const int can = (set->features & SQLCIPHERKIT_CPU_AVX2) != 0;
    wrong |= !is_meddling && prepared != (can ? prepared_of(count) : 0);
    free(in);
    free(out);
    free(plain);
    if (wrong) {
        printf("%s: %zu pages of %zu bytes at once%s: wrong (%zu prepared)\n", set->name, count, size,
               is_meddling ? ", changed before their turn" : "", prepared);
    }
    return wrong;
}

/* Writes page `number`, `size` bytes at `in`, as the codec does, and offers `offered` pages of the same bytes after it. */
static int write_page(struct sqlcipherkit_state *state, struct sqlcipherkit_kernels kernels, const uint8_t key[32],
                      const uint8_t mac_key[32], uint32_t number, const uint8_t *in, size_t size, uint32_t offered,
                      uint8_t *out) {
    const uint8_t end[4] = {(uint8_t)number, 0, 0, 0};
    struct sqlcipherkit_pipeline *pipeline = sqlcipherkit_state_pipeline(state);
    struct sqlcipherkit_write_batch *batch = sqlcipherkit_pipeline_begin(pipeline, to_database, kernels, number, in, size);
    for (uint32_t i = 1; batch != NULL && i <= offered; i++) {
        sqlcipherkit_write_batch_offer(batch, number + i, in);
    }
    int failed = sqlcipherkit_random_bytes(state, out + size, 80) != 0 ||
                 sqlcipherkit_cipher(state, kernels, 1, key, 32, out + size, in, size, out) != 0 ||
                 sqlcipherkit_hmac(state, kernels, SQLCIPHERKIT_SHA512, mac_key, 32, out, size + 16, end, sizeof end,
                                   out + size + 16) != 0;
    sqlcipherkit_pipeline_end(pipeline);
    return failed;
}

/* A state has room for two keys of a kind. Pages are prepared with the first, then one or two other keys come; what was
 * prepared must not be used with the last of them, whether it has a slot of its own or the first key's. */
static int check_keys(const struct kernel_set *set, int is_new_aes_key, int last) {
    enum { size = 4016 };
    static uint8_t in[size], out[size + 80], plain[size];
    uint64_t seed = 1;
    uint8_t keys[3][32], mac_keys[3][32], mac[64];
    const struct sqlcipherkit_kernels kernels = sqlcipherkit_kernels_for(set->features);
    struct sqlcipherkit_state *state = sqlcipherkit_state_create();
    int wrong = state == NULL;
    fill_numbers(&seed, &keys[0][0], sizeof keys);
    fill_numbers(&seed, &mac_keys[0][0], sizeof mac_keys);
    fill_numbers(&seed, in, size);
    for (int i = 0; i <= last && !wrong; i++) {
        /* Page 2 prepares 3 to 9. */
        const uint32_t number = i == 0 ? 2 : 19 + (uint32_t)i;
        wrong |= write_page(state, kernels, keys[is_new_aes_key ? i : 0], mac_keys[is_new_aes_key ? 0 : i], number, in, size,
                            i == 0 ? 7 : 0, out);
    }
    const uint8_t *key = keys[is_new_aes_key ? last : 0], *mac_key = mac_keys[is_new_aes_key ? 0 : last];
    for (uint32_t page = 3; page <= 9 && !wrong; page++) {
        const uint8_t number[4] = {(uint8_t)page, 0, 0, 0};
        wrong |= write_page(state, kernels, key, mac_key, page, in, size, 0, out);
        probe_aes_cbc(0, 0, key, out + size, out, size, plain);
        probe_hmac(0, SQLCIPHERKIT_SHA512, mac_key, 32, out, size + 16, number, 4, mac);
        wrong |= memcmp(plain, in, size) != 0 || memcmp(mac, out + size + 16, sizeof mac) != 0;
    }
    sqlcipherkit_state_destroy(state);
    if (wrong) {
        printf("%s: a page prepared with another %s key, %d later: wrong\n", set->name, is_new_aes_key ? "AES" : "HMAC", last);
    }
    return wrong;
}

int run_pages(void) {
    /* The bytes that SQLCipher encrypts of its page sizes with 16, 48 and 80 bytes reserved, and everything small. */
    static const size_t page_sizes[] = {512, 1024, 2048, 4096, 8192, 16384, 32768, 65536};
    int wrong = 0;
    for (size_t i = 0; i < kernel_set_count; i++) {
        if (!is_available(&kernel_sets[i])) {
            continue;
        }
        for (size_t p = 0; p < sizeof page_sizes / sizeof *page_sizes; p++) {
            for (size_t reserved = 16; reserved <= 96; reserved += 16) {
                wrong |= check(&kernel_sets[i], page_sizes[p] - reserved, NULL);
                wrong |= check(&kernel_sets[i], page_sizes[p] - reserved, meddle);
            }
        }
        for (size_t size = 0; size < 2500; size += 16) {
            wrong |= check(&kernel_sets[i], size, NULL);
            wrong |= check(&kernel_sets[i], size, meddle);
        }
        for (size_t p = 0; p < sizeof page_sizes / sizeof *page_sizes; p++) {
            for (size_t count = 1; count <= 20; count++) {
                wrong |= check_batches(&kernel_sets[i], page_sizes[p] - 80, count, 0);
                wrong |= check_batches(&kernel_sets[i], page_sizes[p] - 80, count, 1);
            }
        }
        for (int last = 1; last <= 2; last++) {
            wrong |= check_keys(&kernel_sets[i], 0, last) | check_keys(&kernel_sets[i], 1, last);
        }
        printf("%s: %s\n", kernel_sets[i].name, wrong ? "WRONG" : "pages hold");
    }
    return wrong;
}
