/* A session leaves the old key out of the changeset if the new one differs in case only.
 *
 * What happens: a table's primary key is NOCASE. DELETE of 'a' and INSERT of 'A' are two rows for the session, which compares
 *   bytes, but sqlite3session_changeset reads the current row of 'a' with a statement that finds 'A'. The changeset then has
 *   an INSERT of 'A' and no DELETE of 'a', and applying it to a copy is a conflict.
 * What should happen: a changeset whose application makes the copy equal.
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
    const char *schema = "CREATE TABLE t(k TEXT PRIMARY KEY COLLATE NOCASE, x) WITHOUT ROWID; INSERT INTO t VALUES ('a', 1)";
    sqlite3_open(":memory:", &db);
    sqlite3_open(":memory:", &copy);
    sqlite3_exec(db, schema, 0, 0, 0);
    sqlite3_exec(copy, schema, 0, 0, 0);
    sqlite3session_create(db, "main", &session);
    sqlite3session_attach(session, NULL);
    sqlite3_exec(db, "DELETE FROM t; INSERT INTO t VALUES ('A', 2)", 0, 0, 0);
    int size, conflicts = 0;
    void *changes;
    sqlite3session_changeset(session, &size, &changes);
    sqlite3changeset_apply(copy, size, changes, NULL, omits, &conflicts);
    sqlite3_stmt *statement;
    sqlite3_prepare_v2(copy, "SELECT k, x FROM t", -1, &statement, NULL);
    sqlite3_step(statement);
    printf("the copy has %s, %d; conflicts: %d\n", sqlite3_column_text(statement, 0), sqlite3_column_int(statement, 1), conflicts);
    return conflicts > 0 || sqlite3_column_int(statement, 1) != 2;
}
