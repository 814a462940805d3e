/* What observing a database takes beyond SQLite's own API. Compiled with the engine (Engine/changes.h). */
#pragma once

#include "sqlite.h"

/* Told before a row is changed: SQLITE_INSERT, SQLITE_UPDATE or SQLITE_DELETE, and whether an update changes the row id. */
typedef void (*sqlcipherkit_change_callback)(void *context, sqlite3 *db, int operation, const char *schema, const char *table,
                                             int moves);

/* sqlite3_preupdate_hook (https://sqlite.org/c3ref/preupdate_blobwrite.html), shared with sessions: there is one such hook,
 * and sqlite3session_create and _delete take its argument for a session of theirs. With this one they find sessions only, and
 * these are called as well; but they take the hook away, so that it is to be set again behind each of them.
 * A NULL callback removes it. Returns an SQLite result code. */
int sqlcipherkit_set_change_hook(sqlite3 *db, sqlcipherkit_change_callback callback, void *context);

/* Inside of the callback, for SQLITE_UPDATE: which of the columns whose bits are set in `candidates` get another value. Bit 63
 * stands for every column from 63 on, and for it, if there are any, as for whatever cannot be told, the answer is yes. */
sqlite3_uint64 sqlcipherkit_changed_columns(sqlite3 *db, sqlite3_uint64 candidates);

/* What a name stands for in a database. */
#define SQLCIPHERKIT_NO_TABLE 0
#define SQLCIPHERKIT_TABLE 1
#define SQLCIPHERKIT_VIEW 2
#define SQLCIPHERKIT_VIRTUAL_TABLE 3

/* What SQL means by the name of a table: what kind of one, from the schema in memory. Without a schema it is the one that SQLite
 * finds first. Writes the names of the table and its database, valid while the schema is, and the index of a column, or -1. May
 * be called by an authorizer and by the callback above. */
typedef struct {
    int kind;
    int column;
    const char *schema, *name;
} sqlcipherkit_table;

sqlcipherkit_table sqlcipherkit_find_table(sqlite3 *db, const char *schema, const char *table, const char *column);

/* A number that becomes another one when the schema of a database of the connection changes, or the databases do. */
sqlite3_uint64 sqlcipherkit_schema_stamp(sqlite3 *db);

/* How far into the write-ahead log the connection has seen, by its own commit or in its open read transaction: *log names the
 * log, which begins again from time to time, and *frame is the last frame in it that counts. A commit to the same log, by
 * whatever process, has a higher frame. Returns whether there is a write-ahead log. */
int sqlcipherkit_log_position(sqlite3 *db, const char *schema, sqlite3_uint64 *log, unsigned int *frame);
