/* SQLite reports a lock that the system refuses as one that another connection has.
 *
 * What happens: sqliteErrorFromPosixError maps ENOLCK (no locks available: the system's table is full, or a file server is
 *   away) to SQLITE_BUSY. A busy handler then waits for its whole timeout for a connection that does not exist, at each call.
 * What should happen: an error at once that says what is wrong, such as SQLITE_IOERR_LOCK.
 * Tried with: SQLite 3.51.1, 3.53.4 and 3.54.0. fcntl fails here by sqlite3_vfs.xSetSystemCall.
 * Without a patch: Sources/CSQLCipher/Engine/files.h
 */
#include <errno.h>
#include <stdarg.h>
#include <fcntl.h>
#include <stdio.h>
#include <time.h>

#include "sqlite3.h"

static int fails;

static int failing_fcntl(int file, int command, ...) {
    va_list list;
    va_start(list, command);
    void *argument = va_arg(list, void *);
    va_end(list);
    if (fails && command == F_SETLK && ((struct flock *)argument)->l_type != F_UNLCK) {
        errno = ENOLCK;
        return -1;
    }
    return fcntl(file, command, argument);
}

int main(void) {
    sqlite3 *db;
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    vfs->xSetSystemCall(vfs, "fcntl", (sqlite3_syscall_ptr)failing_fcntl);
    sqlite3_open("locks.db", &db);
    sqlite3_exec(db, "CREATE TABLE t(x)", 0, 0, 0);
    sqlite3_busy_timeout(db, 1000);
    fails = 1;
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    int rc = sqlite3_exec(db, "INSERT INTO t VALUES (1)", 0, 0, 0);
    clock_gettime(CLOCK_MONOTONIC, &after);
    const double seconds = (double)(after.tv_sec - before.tv_sec) + (double)(after.tv_nsec - before.tv_nsec) / 1e9;
    printf("no locks available: %d after %.1f s\n", rc, seconds);
    return rc == SQLITE_BUSY;
}
