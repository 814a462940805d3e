/* Applying a changeset deletes other rows where a constraint says ON CONFLICT REPLACE.
 *
 * What happens: sqlite3changeset_apply inserts with INSERT INTO, so the table's own ON CONFLICT clause applies: REPLACE
 *   deletes the row that has the value, IGNORE leaves out the change. The conflict handler hears of neither, and
 *   sqlite3changeset_apply returns SQLITE_OK.
 * What should happen: the handler is called with SQLITE_CHANGESET_CONSTRAINT.
 * Tried with: SQLite 3.51.1, 3.53.4 and 3.54.0.
 * Patch: 12-changesets.patch
 */
#include <stdio.h>

#include "sqlite3.h"

static int omits(void *conflicts, int kind, sqlite3_changeset_iter *change) {
    ++*(int *)conflicts;
    (void)kind, (void)change;
    return SQLITE_CHANGESET_OMIT;
}

int main(void) {
    sqlite3 *db, *copy;
    sqlite3_session *session;
    const char *schema = "CREATE TABLE t(id INTEGER PRIMARY KEY, a UNIQUE ON CONFLICT REPLACE)";
    sqlite3_open(":memory:", &db);
    sqlite3_open(":memory:", &copy);
    sqlite3_exec(db, schema, 0, 0, 0);
    sqlite3_exec(copy, schema, 0, 0, 0);
    sqlite3session_create(db, "main", &session);
    sqlite3session_attach(session, NULL);
    sqlite3_exec(db, "INSERT INTO t VALUES (3, 'same')", 0, 0, 0);
    sqlite3_exec(copy, "INSERT INTO t VALUES (9, 'same')", 0, 0, 0);
    int size, conflicts = 0;
    void *changes;
    sqlite3session_changeset(session, &size, &changes);
    int rc = sqlite3changeset_apply(copy, size, changes, NULL, omits, &conflicts);
    sqlite3_stmt *statement;
    sqlite3_prepare_v2(copy, "SELECT count(*) FROM t WHERE id = 9", -1, &statement, NULL);
    sqlite3_step(statement);
    int kept = sqlite3_column_int(statement, 0);
    printf("apply: %d; calls of the handler: %d; the copy's own row is %s\n", rc, conflicts, kept ? "there" : "gone");
    return conflicts == 0 || !kept;
}
