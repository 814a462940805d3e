/* SQLite reports a failing disk as a damaged database.
 *
 * What happens: unixRead turns EIO, ENXIO, ERANGE and EDEVERR into SQLITE_IOERR_CORRUPTFS, which sqlite3PagerGet and others
 *   pass on as SQLITE_CORRUPT: a program is told that its database is malformed, and may throw away a file whose bytes are
 *   right.
 * What should happen: SQLITE_IOERR_READ, or another SQLITE_IOERR.
 * Tried with: SQLite 3.51.1, 3.53.4 and 3.54.0. pread fails here by sqlite3_vfs.xSetSystemCall.
 * Without a patch: Sources/CSQLCipher/Engine/files.h
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "sqlite3.h"

static int fails;

static ssize_t failing_pread(int file, void *bytes, size_t count, off_t offset) {
    if (fails && count > 1000) {
        errno = EIO;
        return -1;
    }
    return pread(file, bytes, count, offset);
}

int main(void) {
    sqlite3 *db;
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    vfs->xSetSystemCall(vfs, "pread", (sqlite3_syscall_ptr)failing_pread);
    vfs->xSetSystemCall(vfs, "pread64", (sqlite3_syscall_ptr)failing_pread);
    sqlite3_open("disk.db", &db);
    sqlite3_exec(db, "CREATE TABLE t(x); INSERT INTO t SELECT randomblob(9000)", 0, 0, 0);
    sqlite3_close(db);
    sqlite3_open("disk.db", &db);
    sqlite3_exec(db, "SELECT * FROM sqlite_schema", 0, 0, 0);
    fails = 1;
    int rc = sqlite3_exec(db, "SELECT * FROM t", 0, 0, 0);
    printf("a disk that cannot be read: %d, %s\n", rc, sqlite3_errmsg(db));
    return rc == SQLITE_CORRUPT;
}
