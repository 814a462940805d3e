/* A connection's wait for a lock. Only engine.c includes this, after the amalgamation.
 *
 * SQLite's own wait adds up the delays that it asked for, in place of the time that has passed, and ends with its timeout alone.
 * This engine's wait goes by the clock, and ends as well when the connection is interrupted or its progress handler says so: what
 * stops a running statement stops one that waits. sqlite3_busy_timeout() and PRAGMA busy_timeout install
 * sqliteDefaultBusyCallback.
 */
#include "../include/waiting.h"

/* The milliseconds between two attempts. A writer that never pauses leaves the lock free for less than that: the more attempts, the
 * sooner one of them meets it free. */
enum { wait_between = 1 };

/* A connection's last wait. */
typedef struct { i64 start; int is_interrupted; } sqlcipherkit_wait;
static const char sqlcipherkit_wait_name[] = "sqlcipherkit_wait";

static i64 sqlcipherkit_microseconds(sqlite3 *db) {
#if SQLITE_OS_UNIX
    struct timespec now;
    (void)db;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (i64)now.tv_sec * 1000000 + now.tv_nsec / 1000;
#else
    i64 milliseconds = 0;
    sqlite3_vfs *const vfs = sqlite3_vfs_find(NULL);
    vfs->xCurrentTimeInt64(vfs, &milliseconds);
    return milliseconds * 1000;
#endif
}

/* Makes it where there is none; NULL without memory. */
static sqlcipherkit_wait *sqlcipherkit_wait_of(sqlite3 *db) {
    sqlcipherkit_wait *wait = sqlite3_get_clientdata(db, sqlcipherkit_wait_name);
    if (wait != NULL) return wait;
    wait = sqlite3_malloc(sizeof *wait);
    /* If that fails, it has freed the memory. */
    return wait != NULL && sqlite3_set_clientdata(db, sqlcipherkit_wait_name, wait, sqlite3_free) == SQLITE_OK ? wait : NULL;
}

/* Begins a wait, or goes on with it. Returns NULL if it has to end. */
static sqlcipherkit_wait *sqlcipherkit_go_on_waiting(sqlite3 *db, int count) {
    sqlcipherkit_wait *wait = sqlcipherkit_wait_of(db);
    if (wait == NULL) return NULL;
    if (count == 0) {
        wait->start = sqlcipherkit_microseconds(db);
        /* An interrupt before the first statement has no effect, as in sqlite3_step(). */
        if (db->nVdbeActive == 0) __atomic_store_n(&db->u1.isInterrupted, 0, __ATOMIC_RELAXED);
    }
    if (db->xProgress != NULL && db->xProgress(db->pProgressArg)) __atomic_store_n(&db->u1.isInterrupted, 1, __ATOMIC_RELAXED);
    wait->is_interrupted = sqlite3_is_interrupted(db);
    return wait->is_interrupted ? NULL : wait;
}

static int sqliteDefaultBusyCallback(void *argument, int count) {
    sqlite3 *db = argument;
    const sqlcipherkit_wait *wait = sqlcipherkit_go_on_waiting(db, count);
    if (wait == NULL) return 0;
    const i64 waited = sqlcipherkit_microseconds(db) - wait->start, left = (i64)db->busyTimeout * 1000 - waited;
    if (left <= 0) return 0;
    sqlite3_sleep(wait_between);
    return 1;
}

#ifndef SQLCIPHERKIT_PLAIN_SYMBOLS
int sqlcipherkit_wait_goes_on(sqlite3 *db, int count) { return sqlcipherkit_go_on_waiting(db, count) != NULL; }

int sqlcipherkit_take_interrupted_wait(sqlite3 *db) {
    sqlcipherkit_wait *wait = sqlite3_get_clientdata(db, sqlcipherkit_wait_name);
    const int is_interrupted = wait != NULL && wait->is_interrupted;
    if (wait != NULL) wait->is_interrupted = 0;
    return is_interrupted;
}
#endif

/* Durability is fitted wherever a transaction begins to write (durability.h). */
static SQLCIPHERKIT_OUTLINE int btreeBeginTrans(Btree *btree, int writes, int *version) {
    const int rc = upstream_btreeBeginTrans(btree, writes, version);
    if (writes && rc == SQLITE_OK) sqlcipherkit_fit_durability(btree);
    return rc;
}
