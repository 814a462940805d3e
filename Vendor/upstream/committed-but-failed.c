/* SQLite reports a commit as failed that is done.
 *
 * What happens: the removal of the rollback journal commits. If the lock cannot be lowered after that, the statement fails
 *   with SQLITE_IOERR, and the connection believes that it has rolled back; every connection that reads the file sees the
 *   row.
 * What should happen: success, as the commit is done; or an error that says so.
 * Tried with: SQLite 3.51.1, 3.53.4 and 3.54.0. fcntl fails here by sqlite3_vfs.xSetSystemCall.
 * Without a patch: Sources/CSQLCipher/Engine/files.h
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "sqlite3.h"

static int fails, is_committed;

static int failing_fcntl(int file, int command, ...) {
    va_list list;
    va_start(list, command);
    struct flock *lock = va_arg(list, void *);
    va_end(list);
    /* The read lock that replaces the write lock. */
    if (fails && command == F_SETLK && lock->l_type != F_WRLCK && access("done.db-journal", F_OK) != 0 && is_committed) {
        errno = EIO;
        return -1;
    }
    return fcntl(file, command, lock);
}

static int counted_unlink(const char *path) {
    is_committed = fails;
    return unlink(path);
}

int main(void) {
    sqlite3 *db, *other;
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    vfs->xSetSystemCall(vfs, "fcntl", (sqlite3_syscall_ptr)failing_fcntl);
    vfs->xSetSystemCall(vfs, "unlink", (sqlite3_syscall_ptr)counted_unlink);
    sqlite3_open("done.db", &db);
    sqlite3_exec(db, "CREATE TABLE t(x)", 0, 0, 0);
    fails = 1;
    int rc = sqlite3_exec(db, "INSERT INTO t VALUES (1)", 0, 0, 0);
    fails = 0;
    sqlite3_close_v2(db);
    sqlite3_stmt *statement;
    sqlite3_open("done.db", &other);
    sqlite3_prepare_v2(other, "SELECT count(*) FROM t", -1, &statement, NULL);
    int rows = sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int(statement, 0) : -1;
    printf("the insert: %d; rows in the file: %d\n", rc, rows);
    return rc != SQLITE_OK && rows == 1;
}
