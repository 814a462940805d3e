/* Memory for secrets. See secure.h.
 *
 * A pool of small places on locked pages serves most connections: allocating a page, locking it and freeing it would take longer
 * than opening a database with a raw key. A request that comes when the pool is full, or that is larger than a place, gets its own
 * pages.
 */
#ifdef __linux__
#define _DEFAULT_SOURCE 1
#endif

#include "secure.h"

#include <stdatomic.h>
#if defined(_WIN32)
#include <windows.h>
#elif defined(__wasi__)
#include <stdlib.h>
#include <string.h>
#else
#include <sys/mman.h>
#include <unistd.h>
#endif

/* With SQLCipher's own 48 KB the pool stays within 64 KB, the limit for locked memory on many systems. */
enum { place_size = locked_place_size, places = 8 };

static _Atomic(uint8_t *) pool;
static atomic_uint taken; /* a bit for each place */

static size_t rounded_to(size_t page, size_t size) { return (size + page - 1) / page * page; }

#if defined(_WIN32)
static size_t rounded_to_pages(size_t size) { return rounded_to(4096, size); }

static void *undumped_alloc(size_t length) { return VirtualAlloc(NULL, length, MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE); }

static void lock_pages(void *bytes, size_t length) { (void)VirtualLock(bytes, length); }

static void pages_free(void *bytes, size_t size) {
    (void)size;
    (void)VirtualFree(bytes, 0, MEM_RELEASE);
}
#elif defined(__wasi__)
/* On WASI, only the host knows about pages. */
static size_t rounded_to_pages(size_t size) { return rounded_to(4096, size); }

static void *undumped_alloc(size_t length) {
    void *bytes = aligned_alloc(4096, length);
    return bytes == NULL ? NULL : memset(bytes, 0, length);
}

static void lock_pages(void *bytes, size_t length) {
    (void)bytes;
    (void)length;
}

static void pages_free(void *bytes, size_t size) {
    (void)size;
    free(bytes);
}
#else
static size_t rounded_to_pages(size_t size) { return rounded_to((size_t)sysconf(_SC_PAGESIZE), size); }

/* Separate pages, left out of core dumps if the system supports that. */
static void *undumped_alloc(size_t length) {
    void *bytes = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    if (bytes == MAP_FAILED) {
        return NULL;
    }
#ifdef MADV_DONTDUMP
    (void)madvise(bytes, length, MADV_DONTDUMP);
#endif
    return bytes;
}

static void lock_pages(void *bytes, size_t length) { (void)mlock(bytes, length); }

static void pages_free(void *bytes, size_t size) { (void)munmap(bytes, rounded_to_pages(size)); }
#endif

static void *pages_alloc(size_t size) {
    size_t length = rounded_to_pages(size);
    void *bytes = undumped_alloc(length);
    /* Locking is optional: a limit on locked memory must not keep a program from its data. */
    if (bytes != NULL) {
        lock_pages(bytes, length);
    }
    return bytes;
}

/* The pool, allocated at the first request and kept; NULL without memory. */
static uint8_t *pool_pages(void) {
    uint8_t *pages = atomic_load_explicit(&pool, memory_order_acquire);
    if (pages == NULL) {
        uint8_t *fresh = pages_alloc(places * place_size);
        if (fresh != NULL && atomic_compare_exchange_strong(&pool, &pages, fresh)) {
            return fresh;
        }
        if (fresh != NULL) {
            pages_free(fresh, places * place_size);
        }
    }
    return pages;
}

void *sqlcipherkit_locked_alloc(size_t size) {
    uint8_t *pages = size <= place_size ? pool_pages() : NULL;
    if (pages != NULL) {
        unsigned before = atomic_load_explicit(&taken, memory_order_relaxed);
        while (before != (1u << places) - 1) {
            int place = __builtin_ctz(~before);
            if (atomic_compare_exchange_weak_explicit(&taken, &before, before | 1u << place, memory_order_acquire,
                                                      memory_order_relaxed)) {
                return pages + place * place_size;
            }
        }
    }
    return pages_alloc(size);
}

void sqlcipherkit_locked_free(void *bytes, size_t size) {
    if (bytes == NULL) {
        return;
    }
    sqlcipherkit_wipe(bytes, size);
    uint8_t *pages = atomic_load_explicit(&pool, memory_order_acquire);
    uintptr_t distance = (uintptr_t)bytes - (uintptr_t)pages;
    if (pages != NULL && distance < places * place_size) {
        atomic_fetch_and_explicit(&taken, ~(1u << distance / place_size), memory_order_release);
    } else {
        pages_free(bytes, size);
    }
}

void *sqlcipherkit_large_alloc(size_t size) {
    void *bytes = size > SIZE_MAX / 2 ? NULL : undumped_alloc(rounded_to_pages(size));
#ifdef MADV_HUGEPAGE
    /* Thousands of page faults cost a tenth of an Argon2 derivation. */
    if (bytes != NULL) {
        (void)madvise(bytes, rounded_to_pages(size), MADV_HUGEPAGE);
    }
#endif
    return bytes;
}

void sqlcipherkit_large_free(void *bytes, size_t size) {
    if (bytes != NULL) {
        sqlcipherkit_wipe(bytes, size);
        pages_free(bytes, size);
    }
}
