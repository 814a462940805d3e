/* Limits for the work on an untrusted file. Only engine.c includes this, after the amalgamation.
 *
 * SQLite's own limit of memory is one of the process, and takes a mutex for each allocation. Here a thread counts what the engine
 * allocates on it, only while it has a limit.
 */
#include "../include/work_limits.h"

#define NO_MEMORY_LIMIT INT64_MAX

static _Thread_local i64 memory_left = NO_MEMORY_LIMIT;
static _Thread_local int memory_was_refused;
static sqlite3_mem_methods unlimited_methods;

static void *sqlcipherkit_limited_malloc(int size) {
    if (memory_left == NO_MEMORY_LIMIT) return unlimited_methods.xMalloc(size);
    void *memory = size <= memory_left ? unlimited_methods.xMalloc(size) : NULL;
    if (memory != NULL) memory_left -= unlimited_methods.xSize(memory);
    else memory_was_refused = 1;
    return memory;
}

static void sqlcipherkit_limited_free(void *memory) {
    if (memory_left != NO_MEMORY_LIMIT && memory != NULL) memory_left += unlimited_methods.xSize(memory);
    unlimited_methods.xFree(memory);
}

static void *sqlcipherkit_limited_realloc(void *memory, int size) {
    if (memory_left == NO_MEMORY_LIMIT) return unlimited_methods.xRealloc(memory, size);
    const int before = memory != NULL ? unlimited_methods.xSize(memory) : 0;
    void *moved = size - (i64)before <= memory_left ? unlimited_methods.xRealloc(memory, size) : NULL;
    if (moved != NULL) memory_left -= unlimited_methods.xSize(moved) - before;
    else memory_was_refused = 1;
    return moved;
}

/* Puts the count before the functions that SQLCipher has found. Called under the mutex of the start. */
static void sqlcipherkit_count_memory(void) {
    if (default_mem_methods.xMalloc == sqlcipherkit_limited_malloc || default_mem_methods.xMalloc == NULL) return;
    unlimited_methods = default_mem_methods;
    default_mem_methods.xMalloc = sqlcipherkit_limited_malloc;
    default_mem_methods.xRealloc = sqlcipherkit_limited_realloc;
    default_mem_methods.xFree = sqlcipherkit_limited_free;
}

struct sqlcipherkit_memory_limit sqlcipherkit_limit_memory(i64 bytes) {
    struct sqlcipherkit_memory_limit limit = {.left = NO_MEMORY_LIMIT, .outer = memory_left};
    if (bytes >= 0) memory_left = limit.left = sqlcipherkit_lesser(bytes, limit.outer);
    memory_was_refused = 0;
    return limit;
}

int sqlcipherkit_end_memory_limit(struct sqlcipherkit_memory_limit limit) {
    if (limit.left != NO_MEMORY_LIMIT) {
        const i64 used = limit.left - memory_left;
        memory_left = limit.outer == NO_MEMORY_LIMIT ? NO_MEMORY_LIMIT : limit.outer - used;
    }
    const int was_refused = memory_was_refused;
    memory_was_refused = 0;
    return was_refused;
}

i64 sqlcipherkit_rows_stepped(sqlite3 *db) {
    i64 rows = 0;
    /* OP_Next counts in the counter that its P5 names: that of full scans, or the first one, which has no name. */
    for (sqlite3_stmt *next = sqlite3_next_stmt(db, NULL); next != NULL; next = sqlite3_next_stmt(db, next)) {
        const Vdbe *statement = (const Vdbe *)next;
        rows += (i64)statement->aCounter[0] + statement->aCounter[SQLITE_STMTSTATUS_FULLSCAN_STEP];
    }
    return rows;
}

int sqlcipherkit_has_ended(sqlite3 *db) {
    int running = 0, ended = 0;
    for (sqlite3_stmt *next = sqlite3_next_stmt(db, NULL); next != NULL; next = sqlite3_next_stmt(db, next)) {
        const Vdbe *statement = (const Vdbe *)next;
        running += statement->eVdbeState == VDBE_RUN_STATE && statement->pResultRow == NULL;
        ended |= statement->eVdbeState == VDBE_HALT_STATE;
    }
    return ended && running < db->nVdbeExec;
}
