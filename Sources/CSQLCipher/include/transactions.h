/* The connection's transaction: what a statement does to it, and ways to end it that cannot fail. */
#pragma once

#include "sqlite.h"

/* Resets a statement. Undoes what it has written if it has not reached its last row: SQLite would commit the changes, while a
 * caller that gets an error would assume that they were undone. */
int sqlcipherkit_reset(sqlite3_stmt *statement);

/* Takes a statement's first step as sqlite3_step does, but never compiles it again: if the schema is not the one that it was
 * compiled for, nothing is done, and the result is SQLITE_SCHEMA. */
int sqlcipherkit_step_as_compiled(sqlite3_stmt *statement);

/* Returns whether a compiled statement would begin or end a transaction or a savepoint when it runs: `BEGIN`, `COMMIT`, `END`,
 * `ROLLBACK`, `SAVEPOINT`, `RELEASE`. EXPLAIN of them does not. */
int sqlcipherkit_controls_transaction(sqlite3_stmt *statement);

/* Returns whether a compiled statement that fails may keep what it has changed until then, as RAISE(FAIL) in a trigger and ON
 * CONFLICT FAIL make it do: the caller has to undo that. */
int sqlcipherkit_may_fail_halfway(sqlite3_stmt *statement);

/* Rolls the open transaction back as `ROLLBACK` does, without a statement that could fail for lack of memory, be refused by an
 * authorizer or be stopped. Statements that are on a row fail with SQLITE_ABORT_ROLLBACK afterwards. Must not be called in a
 * callback or during a statement's step. */
void sqlcipherkit_roll_back(sqlite3 *db);

/* Returns whether the open transaction has what `BEGIN IMMEDIATE` takes, or `BEGIN EXCLUSIVE` if is_exclusive is not 0: the lock
 * for writing the main database, and without a write-ahead log the lock that blocks readers too. */
int sqlcipherkit_has_write_lock(sqlite3 *db, int is_exclusive);

/* Begins a transaction, if none is open, in which all databases except temp are read as they are now, or as in a snapshot that was
 * opened before. After a failure the transaction may be open. Must not be called in a callback or during a statement's step. */
int sqlcipherkit_begin_read(sqlite3 *db);

/* Ends the transaction of sqlcipherkit_begin_read as `COMMIT` does, if it has only read and no statement is on a row. Otherwise
 * returns 0 and does nothing. Must not be called in a callback or during a statement's step. */
int sqlcipherkit_end_read(sqlite3 *db);

/* Opens the write-ahead logs of all databases except temp that are not open yet: as long as a connection that may write has a log
 * open, no connection that may not write is the last to close it. Does nothing in a transaction. Must not be called in a callback
 * or during a statement's step. */
void sqlcipherkit_open_logs(sqlite3 *db);

/* Returns whether the open transaction can no longer write or commit, because a statement in it has found damage in a database. */
int sqlcipherkit_refuses_commit(sqlite3 *db);

/* Lets the open transaction write and commit again. The damaged database must be gone. */
void sqlcipherkit_allow_commit(sqlite3 *db);

/* Takes a database, if it is attached, out of the open transaction, and undoes what was changed in it, so that it can be detached.
 * No statement may be on a row of it. */
void sqlcipherkit_leave_transaction(sqlite3 *db, const char *schema);

/* Lets others use a database that was locked for longer than a transaction. A statement would need memory and the disk. */
void sqlcipherkit_unlock(sqlite3 *db, const char *schema);
