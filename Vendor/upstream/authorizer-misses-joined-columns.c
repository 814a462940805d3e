/* The authorizer is not asked about columns that a join with USING reads.
 *
 * What happens: SELECT x FROM a FULL JOIN b USING (x) reads a.x and b.x. SQLITE_READ is asked for neither where the name is
 *   coalesced.
 * What should happen: it is asked for each column whose value the statement can return.
 * Tried with: SQLite 3.51.1 and 3.53.4. SQLite 3.54.0 asks about both.
 * Patch: 11-authorizer.patch
 */
#include <stdio.h>
#include <string.h>

#include "sqlite3.h"

static int asked;

static int authorize(void *none, int action, const char *table, const char *column, const char *schema, const char *trigger) {
    if (action == SQLITE_READ && strcmp(column, "x") == 0) asked++;
    (void)none, (void)table, (void)schema, (void)trigger;
    return SQLITE_OK;
}

int main(void) {
    sqlite3 *db;
    sqlite3_stmt *statement;
    sqlite3_open(":memory:", &db);
    sqlite3_exec(db, "CREATE TABLE a(x, y); CREATE TABLE b(x, z)", 0, 0, 0);
    sqlite3_set_authorizer(db, authorize, NULL);
    int defects = 0;
    for (int i = 0; i < 2; i++) {
        const char *sql = i == 0 ? "SELECT x FROM a FULL JOIN b USING (x)" : "SELECT x FROM a NATURAL FULL JOIN b";
        asked = 0;
        sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
        sqlite3_finalize(statement);
        printf("%s: asked %d times about x\n", sql, asked);
        defects += asked < 2;
    }
    return defects > 0;
}
