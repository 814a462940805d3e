/* What keeps secrets: wiping behind a compiler barrier, and locked pages. */
#ifdef __linux__
#define _DEFAULT_SOURCE 1
#endif

#include "secure.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The empty assembly claims to read the bytes, so that the stores before it must happen. */
void sqlcipherkit_wipe(void *bytes, size_t size) {
    memset(bytes, 0, size);
    __asm__ volatile("" : : "r"(bytes) : "memory");
}

/* Deeper than any kernel's frame (the largest, a double message schedule of four blocks, takes a little over 5 KB) and
 * than what SQLite's pager puts between sqlite3_step() and a page's encryption. */
enum { stack_depth = 16384, near_depth = 1536 };

__attribute__((noinline)) void sqlcipherkit_wipe_stack(void) {
    uint8_t below[stack_depth];
    sqlcipherkit_wipe(below, sizeof below);
}

__attribute__((noinline)) void sqlcipherkit_wipe_stack_near(void) {
    uint8_t below[near_depth];
    sqlcipherkit_wipe(below, sizeof below);
}

static size_t rounded_to_pages(size_t size) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (size + page - 1) / page * page;
}

void *sqlcipherkit_locked_alloc(size_t size) {
    size_t length = rounded_to_pages(size);
    void *bytes = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    if (bytes == MAP_FAILED) {
        return NULL;
    }
    /* Both are best effort: a limit on locked memory must not keep a program from its data. */
    (void)mlock(bytes, length);
#ifdef MADV_DONTDUMP
    (void)madvise(bytes, length, MADV_DONTDUMP);
#endif
    return bytes;
}

void sqlcipherkit_locked_free(void *bytes, size_t size) {
    if (bytes == NULL) {
        return;
    }
    sqlcipherkit_wipe(bytes, size);
    (void)munmap(bytes, rounded_to_pages(size));
}
