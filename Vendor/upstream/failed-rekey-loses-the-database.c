/* A sqlite3_rekey that fails leaves the new key set for writing, and the next write loses the database.
 *
 * What happens: sqlite3_rekey_v2 sets the new key of the write context before it begins its transaction. If that fails, as
 *   another connection is reading or writing, the key stays. The connection's next write puts its pages under the new key
 *   among those under the old one, and neither key opens the file.
 * What should happen: a rekey that fails changes nothing.
 * Tried with: SQLCipher 4.12.0, 4.18.0 and 4.19.0.
 * Patch: 07-rekey.patch
 */
#include <stdio.h>

#include "sqlite3.h"

static int opens(const char *key) {
    sqlite3 *db;
    sqlite3_open("rekey.db", &db);
    sqlite3_key(db, key, 3);
    int rc = sqlite3_exec(db, "SELECT count(*) FROM sqlite_schema; SELECT sum(length(x)) FROM t", 0, 0, 0);
    sqlite3_close(db);
    return rc == SQLITE_OK;
}

int main(void) {
    sqlite3 *db, *other;
    sqlite3_open("rekey.db", &db);
    sqlite3_key(db, "old", 3);
    sqlite3_exec(db, "CREATE TABLE t(x); INSERT INTO t SELECT randomblob(3000) FROM (VALUES (1), (2), (3), (4))", 0, 0, 0);
    sqlite3_open("rekey.db", &other);
    sqlite3_key(other, "old", 3);
    sqlite3_exec(other, "BEGIN IMMEDIATE", 0, 0, 0);
    int rc = sqlite3_rekey(db, "new", 3);
    sqlite3_exec(other, "COMMIT", 0, 0, 0);
    sqlite3_close(other);
    int written = sqlite3_exec(db, "INSERT INTO t VALUES (5)", 0, 0, 0);
    sqlite3_close(db);
    int old = opens("old"), new = opens("new");
    printf("rekey: %d, the next insert: %d; the old key opens the file: %s, the new key: %s\n", rc, written, old ? "yes" : "no",
           new ? "yes" : "no");
    return !old && !new;
}
