/* SQLCipher's rollback lets SQLite parse pages before they are decrypted.
 *
 * What happens: pager_playback_one_page copies a page's bytes from the journal, calls pPager->xReiniter (pageReinit) on them,
 *   and only then CODEC1(…, 3). btreeInitPage therefore sees ciphertext. Mostly it fails, and the page is parsed again when
 *   it is used. Once in some thousand rollbacks the ciphertext passes for a page, which is then used with random counts and
 *   offsets: reads fail as corrupt, and writes spoil the page.
 * What should happen: bytes are decrypted before they are parsed.
 * Tried with: SQLCipher 4.12.0, 4.18.0 and 4.19.0. SQLite without SQLCipher never fails.
 * Patch: 05-rollback.patch
 */
#include <stdio.h>

#include "sqlite3.h"

int main(void) {
    sqlite3 *db;
    int rc = SQLITE_OK, round = 0;
    sqlite3_open("rollback.db", &db);
    /* A raw key, as deriving one takes long. */
    sqlite3_key(db, "x'000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f'", 67);
    sqlite3_exec(db, "PRAGMA synchronous = OFF; PRAGMA cache_size = 5; CREATE TABLE a(x); CREATE TABLE c(z);"
                 "INSERT INTO a VALUES (-1)", 0, 0, 0);
    for (int i = 0; i < 12; i++) sqlite3_exec(db, "INSERT INTO c VALUES (zeroblob(3000))", 0, 0, 0);
    for (; round < 60000 && rc == SQLITE_OK; round++) {
        /* The transaction is written to the file before it ends, with another initialization vector, and so other ciphertext. */
        sqlite3_exec(db, "UPDATE a SET x = x + 1; BEGIN; CREATE TABLE b(x); UPDATE c SET z = zeroblob(2900)", 0, 0, 0);
        sqlite3_exec(db, "ROLLBACK", 0, 0, 0);
        rc = sqlite3_exec(db, "SELECT x FROM a; SELECT sum(length(z)) FROM c", 0, 0, 0);
    }
    printf("after %d rollbacks: %d, %s\n", round, rc, sqlite3_errmsg(db));
    sqlite3_close(db);
    return rc != SQLITE_OK;
}
