/* What a statement does to the connection's transaction, and an end of it that cannot fail. */
#pragma once

#include "sqlite.h"

/* Resets a statement. What it has written is undone if it has not come to its last row: SQLite would commit it, and a caller who
 * gets an error would take it for undone. */
int sqlcipherkit_reset(sqlite3_stmt *statement);

/* Whether a compiled statement would begin or end a transaction or a savepoint when it runs: `BEGIN`, `COMMIT`, `END`, `ROLLBACK`,
 * `SAVEPOINT`, `RELEASE`. EXPLAIN of them does not. */
int sqlcipherkit_controls_transaction(sqlite3_stmt *statement);

/* Rolls the open transaction back as `ROLLBACK` does, without a statement that could fail for lack of memory, be refused by an
 * authorizer or be stopped. Statements that stand on a row fail with SQLITE_ABORT_ROLLBACK afterwards. Outside of a callback
 * and of a running statement's step. */
void sqlcipherkit_roll_back(sqlite3 *db);

/* Begins a transaction, if none is open, in which all databases but temp are read as they are now, or as a snapshot says that was
 * opened before. After a failure the transaction may be open. Outside of a callback and of a running statement's step. */
int sqlcipherkit_begin_read(sqlite3 *db);

/* Ends the transaction of sqlcipherkit_begin_read as `COMMIT` does, if all of it was reads and no statement stands on a row;
 * returns 0 otherwise, and has done nothing. Outside of a callback and of a running statement's step. */
int sqlcipherkit_end_read(sqlite3 *db);

/* Opens the write-ahead logs of all databases but temp, where that was not done: who has a log open and may write keeps those who
 * may not from closing it last. Without a transaction; outside of a callback and of a running statement's step. */
void sqlcipherkit_open_logs(sqlite3 *db);
