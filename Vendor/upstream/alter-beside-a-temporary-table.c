/* Beside a temporary table of the same name, ALTER TABLE drops a column that an index uses.
 *
 * What happens: ALTER TABLE main.t looks up the table of an index's text by its name alone, and finds temp.t. DROP COLUMN
 *   therefore accepts a column that the index uses, and RENAME COLUMN leaves the index on the old name. Either way the index
 *   lacks rows.
 * What should happen: as without the temporary table: DROP COLUMN is refused, and RENAME COLUMN renames.
 * Tried with: SQLite 3.40.1, 3.51.1, 3.53.4 and 3.54.0.
 * Patch: 14-alter.patch
 */
#include <stdio.h>
#include <string.h>

#include "sqlite3.h"

static int report(void *whole, int count, char **values, char **names) {
    printf("  integrity_check: %s\n", values[0]);
    *(int *)whole = strcmp(values[0], "ok") == 0;
    (void)count, (void)names;
    return 0;
}

int main(void) {
    const char *changes[] = {"ALTER TABLE main.t DROP COLUMN b", "ALTER TABLE main.t RENAME COLUMN b TO e"};
    int defects = 0;
    for (int i = 0; i < 2; i++) {
        sqlite3 *db;
        int whole = 0;
        sqlite3_open(":memory:", &db);
        sqlite3_exec(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, b, c); INSERT INTO t(b, c) VALUES (1, 1), (NULL, 2);"
                     "CREATE TEMP TABLE t(id INTEGER PRIMARY KEY, b, c);"
                     "CREATE INDEX main.i ON t(c) WHERE \"b\" IS NOT NULL", 0, 0, 0);
        int rc = sqlite3_exec(db, changes[i], 0, 0, 0);
        printf("%s: %d, %s\n", changes[i], rc, sqlite3_errmsg(db));
        sqlite3_exec(db, "PRAGMA main.integrity_check", report, &whole, 0);
        defects += !whole;
        sqlite3_close(db);
    }
    return defects > 0;
}
