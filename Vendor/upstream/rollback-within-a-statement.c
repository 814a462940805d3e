/* SQLite writes without a transaction after a statement within the statement has rolled back.
 *
 * What happens: a function that a statement calls runs INSERT OR ROLLBACK on the same connection, which ends the transaction.
 *   A statement that opens what it writes into only afterwards then opens a write cursor without a transaction, and writes:
 *   the connection sees the row, the file never gets it, nor the commits that follow.
 * What should happen: SQLITE_ABORT_ROLLBACK, as for a statement that had its cursors open before.
 * Tried with: SQLite 3.51.1, 3.53.4 and 3.54.0.
 * Patch: 05-rollback.patch
 */
#include <stdio.h>

#include "sqlite3.h"

static void rolls_back(sqlite3_context *context, int count, sqlite3_value **values) {
    sqlite3_exec(sqlite3_context_db_handle(context), "INSERT OR ROLLBACK INTO u VALUES (1)", 0, 0, 0);
    sqlite3_result_int(context, 1);
    (void)count, (void)values;
}

static int number(sqlite3 *db, const char *sql) {
    sqlite3_stmt *statement;
    sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    int found = sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int(statement, 0) : -1;
    sqlite3_finalize(statement);
    return found;
}

int main(void) {
    sqlite3 *db, *other;
    sqlite3_open("within.db", &db);
    sqlite3_create_function(db, "f", 1, SQLITE_UTF8, NULL, rolls_back, NULL, NULL);
    sqlite3_exec(db, "CREATE TABLE t(x); INSERT INTO t VALUES (1); CREATE TABLE u(x UNIQUE); INSERT INTO u VALUES (1)", 0, 0, 0);
    int rc = sqlite3_exec(db, "INSERT INTO t SELECT f(x) FROM t LIMIT 1", 0, 0, 0);
    sqlite3_exec(db, "INSERT INTO t VALUES (77)", 0, 0, 0);
    sqlite3_open("within.db", &other);
    int here = number(db, "SELECT count(*) FROM t"), there = number(other, "SELECT count(*) FROM t");
    printf("the statement: %d; rows after another insert: %d here, %d for another connection\n", rc, here, there);
    return here != there;
}
