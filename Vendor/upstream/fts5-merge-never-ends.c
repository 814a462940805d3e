/* FTS5's merge in steps begins again after each write, and segments become too many.
 *
 * What happens: INSERT INTO fts(fts, rank) VALUES ('merge', -N) is documented as the first call of a merge of all segments.
 *   Where rows are inserted between two calls, each call puts the new segments into the level that is being merged: the merge
 *   never ends, levels pile up, and at 2,000 segments each write fails with "database disk image is malformed" or "database
 *   or disk is full".
 * What should happen: a merge that has begun ends, and the number of segments stays bounded.
 * Tried with: SQLite 3.51.1, 3.53.4 and 3.54.0.
 * Patch: 13-full-text.patch
 */
#include <stdio.h>

#include "sqlite3.h"

int main(void) {
    sqlite3 *db;
    sqlite3_open(":memory:", &db);
    sqlite3_exec(db, "CREATE VIRTUAL TABLE fts USING fts5(body); INSERT INTO fts(fts, rank) VALUES ('pgsz', 32)", 0, 0, 0);
    sqlite3_exec(db, "WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 20000)"
                 "INSERT INTO fts SELECT 'a' || i FROM n", 0, 0, 0);
    int rc = SQLITE_OK, row = 0;
    for (; row < 2200 && rc == SQLITE_OK; row++) {
        rc = sqlite3_exec(db, "INSERT INTO fts(body) VALUES ('abc def ghi')", 0, 0, 0);
        if (rc == SQLITE_OK) rc = sqlite3_exec(db, "INSERT INTO fts(fts, rank) VALUES ('merge', -1)", 0, 0, 0);
    }
    sqlite3_stmt *statement;
    sqlite3_prepare_v2(db, "SELECT count(DISTINCT id >> 37) FROM fts_data WHERE id > 10", -1, &statement, NULL);
    sqlite3_step(statement);
    int segments = sqlite3_column_int(statement, 0);
    printf("after %d inserts: %d segments, result code %d\n", row, segments, rc);
    return rc != SQLITE_OK || segments > 1000;
}
