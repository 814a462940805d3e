/* SQLCipher decrypts a page whose read has failed.
 *
 * What happens: readDbPage ends with CODEC1(…), whatever the read returned. A failed read therefore reaches the codec as if
 *   its bytes were a page; the authentication fails, the codec keeps the error, and every later statement of the connection
 *   fails, although the next read of the page would succeed.
 * What should happen: the statement fails with the error of the read (SQLITE_IOERR_READ); the next statement works.
 * Tried with: SQLCipher 4.12.0, 4.18.0 and 4.19.0. SQLite without SQLCipher recovers. One call of pread fails here, by
 *   sqlite3_vfs.xSetSystemCall.
 * Patch: 04-damaged-pages.patch
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
    sqlite3_open("read.db", &db);
    sqlite3_key(db, "key", 3);
    sqlite3_exec(db, "CREATE TABLE t(x); INSERT INTO t SELECT randomblob(3000) FROM (VALUES (1), (2), (3))", 0, 0, 0);
    sqlite3_close(db);
    sqlite3_open("read.db", &db);
    sqlite3_key(db, "key", 3);
    sqlite3_exec(db, "SELECT * FROM sqlite_schema", 0, 0, 0);
    fails = 1;
    int first = sqlite3_exec(db, "SELECT sum(length(x)) FROM t", 0, 0, 0);
    int extended = sqlite3_extended_errcode(db);
    fails = 0;
    int second = sqlite3_exec(db, "SELECT sum(length(x)) FROM t", 0, 0, 0);
    printf("while reads fail: %d (%d), afterwards: %d\n", first, extended, second);
    return second != SQLITE_OK;
}
