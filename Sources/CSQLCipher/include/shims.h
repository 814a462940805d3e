/* Calls that Swift cannot make: with variable arguments, or with pointer constants. */
#pragma once

#include <stddef.h>
#include <string.h>
#if !defined(_WIN32) && !defined(__wasi__)
#include <sys/resource.h>
#endif
#include "sqlite.h"

/* SQLITE_TRANSIENT: SQLite copies the bytes before the call returns. https://sqlite.org/c3ref/c_static.html */
static inline sqlite3_destructor_type sqlcipherkit_transient(void) {
    return SQLITE_TRANSIENT;
}

/* sqlite3_db_config for the options that take an int and return the value that took effect.
 * Reads op and value (-1 asks only); writes *result. Returns SQLite's result code.
 * https://sqlite.org/c3ref/db_config.html */
static inline int sqlcipherkit_db_config(sqlite3 *db, int op, int value, int *result) {
    return sqlite3_db_config(db, op, value, result);
}

/* For xConnect of a virtual table: no view and no trigger of a schema may read it. Returns SQLite's result code.
 * https://sqlite.org/c3ref/vtab_config.html */
static inline int sqlcipherkit_direct_only(sqlite3 *db) {
    return sqlite3_vtab_config(db, SQLITE_VTAB_DIRECTONLY);
}

/* Reads `count` bytes of a schema's database file, from an offset on, through SQLite's own descriptor: opening and closing the file
 * separately would drop the locks of every connection of this process (https://sqlite.org/howtocorrupt.html, 2.2).
 * Returns SQLITE_OK, SQLITE_IOERR_SHORT_READ if the file ends earlier (missing bytes are zeros), SQLITE_CANTOPEN if there is no
 * file, or the error of reading it. */
static inline int sqlcipherkit_read_file(sqlite3 *db, const char *schema, void *bytes, int count, sqlite3_int64 offset) {
    sqlite3_file *file = 0;
    int rc = sqlite3_file_control(db, schema, SQLITE_FCNTL_FILE_POINTER, &file);
    if (rc != SQLITE_OK) return rc;
    if (file == 0 || file->pMethods == 0) return SQLITE_CANTOPEN;
    return file->pMethods->xRead(file, bytes, count, offset);
}

/* Returns whether another connection, of any process, has one of the locks of a log's index exclusively: 0 the write lock, 1 that
 * of checkpoints (https://sqlite.org/walformat.html#wal_locks). The shared lock is granted only if there is no such connection, and
 * given back at once. Returns 0 too if the database has no index. */
static inline int sqlcipherkit_log_lock_is_taken(sqlite3 *db, const char *schema, int lock) {
    sqlite3_file *file = 0;
    int rc = sqlite3_file_control(db, schema, SQLITE_FCNTL_FILE_POINTER, &file);
    if (rc != SQLITE_OK || file == 0 || file->pMethods == 0 || file->pMethods->iVersion < 2) return 0;
    rc = file->pMethods->xShmLock(file, lock, 1, SQLITE_SHM_LOCK | SQLITE_SHM_SHARED);
    if (rc == SQLITE_OK) file->pMethods->xShmLock(file, lock, 1, SQLITE_SHM_UNLOCK | SQLITE_SHM_SHARED);
    return rc == SQLITE_BUSY;
}

/* The bytes that the process may lock into memory (getrlimit, POSIX), or -1 for no limit; 0 where there is no such call. */
static inline long long sqlcipherkit_memory_lock_limit(void) {
#if defined(RLIMIT_MEMLOCK)
    struct rlimit limit;
    if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return 0;
    return limit.rlim_cur == RLIM_INFINITY ? -1 : (long long)limit.rlim_cur;
#else
    return 0;
#endif
}

/* Finds the first occurrence of `part_count` bytes, at least one, in `count` bytes; NULL if there is none. Not every C library
 * declares memmem without an extension. */
static inline const void *sqlcipherkit_find(const void *bytes, size_t count, const void *part, size_t part_count) {
    const unsigned char *at = bytes, *const end = at + count;
    while (part_count > 0 && (size_t)(end - at) >= part_count) {
        at = memchr(at, *(const unsigned char *)part, (size_t)(end - at) - part_count + 1);
        if (at == NULL) return NULL;
        if (memcmp(at, part, part_count) == 0) return at;
        at++;
    }
    return NULL;
}
