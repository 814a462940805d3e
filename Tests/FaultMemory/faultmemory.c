/* SQLite's own allocator with a count before it (https://sqlite.org/c3ref/mem_methods.html). */
#include "faultmemory.h"
#include <CSQLCipher.h>
#include <stdatomic.h>
#include <stddef.h>

static sqlite3_mem_methods original;
static atomic_long first, calls;
static atomic_int lasting;
static atomic_long live;

static int fails(void) {
    const long call = ++calls, chosen = first;
    return chosen != 0 && (call == chosen || (lasting && call > chosen));
}

static void *allocate(int count) {
    void *memory = fails() ? NULL : original.xMalloc(count);
    if (memory != NULL) ++live;
    return memory;
}

static void *reallocate(void *memory, int count) { return fails() ? NULL : original.xRealloc(memory, count); }

static void release(void *memory) {
    if (memory != NULL) --live;
    original.xFree(memory);
}

int faultmemory_install(void) {
    int rc = sqlite3_config(SQLITE_CONFIG_GETMALLOC, &original);
    if (rc != SQLITE_OK) return rc;
    sqlite3_mem_methods ours = original;
    ours.xMalloc = allocate;
    ours.xRealloc = reallocate;
    ours.xFree = release;
    return sqlite3_config(SQLITE_CONFIG_MALLOC, &ours);
}

void faultmemory_choose(long number, int for_good) {
    first = 0;
    calls = 0;
    lasting = for_good;
    first = number;
}

long faultmemory_calls(void) { return calls; }

long faultmemory_live(void) { return live; }
