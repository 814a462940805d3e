/* Pages in a row with one connection's state: the encryption that hashes in the same pass gives what the separate steps give,
 * also when the page changes between them; and so does the encryption of several pages at once, also when those that were
 * prepared change before their turn. */
#include "probe.h"

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
    wrong |= sqlcipherkit_test_pages(set->features, key, mac_key, ivs, in, size, pages, out, macs, change) != 0;
    for (size_t i = 0; i < pages; i++) {
        const uint8_t number[4] = {(uint8_t)i, 0, 0, 0};
        sqlcipherkit_test_aes_cbc(0, 1, key, ivs + 16 * i, in + i * size, size, wanted);
        if (change != NULL) {
            change(wanted, size);
        }
        sqlcipherkit_test_hmac(0, SQLCIPHERKIT_SHA512, mac_key, sizeof mac_key, wanted, size, number, 4, mac);
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

/* How many of `count` pages have been prepared with one before them: eight at a time, but never fewer than three. */
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
    wrong |= sqlcipherkit_test_write_batch(set->features, key, mac_key, in, size, count, out,
                                           is_meddling ? meddle_with_plaintext : NULL, &prepared) != 0;
    for (size_t i = 0; i < count; i++) {
        const uint8_t number[4] = {(uint8_t)(i + 2), (uint8_t)((i + 2) >> 8), 0, 0};
        const uint8_t *page = out + i * whole;
        sqlcipherkit_test_aes_cbc(0, 0, key, page + size, page, size, plain);
        sqlcipherkit_test_hmac(0, SQLCIPHERKIT_SHA512, mac_key, sizeof mac_key, page, size + 16, number, 4, mac);
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

int run_pages(void) {
    /* What SQLCipher encrypts of its page sizes with 16, 48 and 80 bytes reserved, and everything small. */
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
        printf("%s: %s\n", kernel_sets[i].name, wrong ? "WRONG" : "pages hold");
    }
    return wrong;
}
