/* Wiping, with a compiler barrier after it. */
#include "secure.h"
#include "../include/symbols.h"

#include <string.h>

/* The empty assembly claims to read the bytes, so that the stores before it must happen. */
void sqlcipherkit_wipe(void *bytes, size_t count) {
    memset(bytes, 0, count);
    __asm__ volatile("" : : "r"(bytes) : "memory");
}

/* SQLCipher fills what it allocates and wipes what it frees with this (Engine/overrides.h). */
void *sqlcipher_memset(void *bytes, unsigned char value, unsigned long long size);
void *sqlcipher_memset(void *bytes, unsigned char value, unsigned long long size) {
    memset(bytes, value, (size_t)size);
    __asm__ volatile("" : : "r"(bytes) : "memory");
    return bytes;
}

/* Deeper than any kernel's frame (the largest, a double message schedule of four blocks, takes a little over 5 KB) and
 * than what SQLite's pager puts between sqlite3_step() and a page's encryption. */
enum { stack_depth = 16384, near_depth = 2048 };

__attribute__((noinline)) void sqlcipherkit_wipe_stack(void) {
    uint8_t below[stack_depth];
    sqlcipherkit_wipe(below, sizeof below);
}

__attribute__((noinline)) void sqlcipherkit_wipe_stack_near(void) {
    uint8_t below[near_depth];
    sqlcipherkit_wipe(below, sizeof below);
}
