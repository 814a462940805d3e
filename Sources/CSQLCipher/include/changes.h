/* Functions for observing a database, beyond SQLite's own API. Compiled with the engine (Engine/changes.h). */
#pragma once

#include "sqlite.h"

/* Called before a row is changed. `operation` is SQLITE_INSERT, SQLITE_UPDATE or SQLITE_DELETE; `moves` says whether an update
 * changes the row id. */
typedef void (*sqlcipherkit_change_callback)(void *context, sqlite3 *db, int operation, const char *schema, const char *table,
                                             int moves);

/* Sets a hook like sqlite3_preupdate_hook (https://sqlite.org/c3ref/preupdate_blobwrite.html), but shared with sessions and
 * recorders. A connection has one such hook, and sqlite3session_create and _delete treat its argument as one of their sessions.
 * With this function they find only sessions, and the sessions are called as well. A NULL callback removes it. The connection must
 * come from sqlcipherkit_open, and its sessions from sqlcipherkit_create_session. */
void sqlcipherkit_set_change_hook(sqlite3 *db, sqlcipherkit_change_callback callback, void *context);

/* Inside the callback, for SQLITE_UPDATE: which of the columns whose bits are set in `candidates` get another value. Bit 63 stands
 * for every column from 63 on. It is set if there are any such columns, and so is the bit of a column that cannot be compared. */
sqlite3_uint64 sqlcipherkit_changed_columns(sqlite3 *db, sqlite3_uint64 candidates);

/* The kinds of objects that a name stands for in a database. */
#define SQLCIPHERKIT_NO_TABLE 0
#define SQLCIPHERKIT_TABLE 1
#define SQLCIPHERKIT_VIEW 2
#define SQLCIPHERKIT_VIRTUAL_TABLE 3

/* The table that a name means in SQL, from the schema in memory: its kind, the names of the table and its database, which are valid
 * as long as the schema, and the index of a column, or -1. Without a schema, it is the table that SQLite finds first. An authorizer
 * and the callback above may call this. */
typedef struct {
    int kind;
    int column;
    const char *schema, *name;
} sqlcipherkit_table;

sqlcipherkit_table sqlcipherkit_find_table(sqlite3 *db, const char *schema, const char *table, const char *column);

/* sqlite3session_create, for sessions that record a whole number of a REAL column as a REAL, and that fail with SQLITE_CONSTRAINT
 * after a change of a row that has NULL in its key, or a key with a collation other than SQLite's own. */
int sqlcipherkit_create_session(sqlite3 *db, const char *schema, sqlite3_session **session);
void sqlcipherkit_delete_session(sqlite3_session *session);

/* A table's comparison of a column of its primary key. */
typedef struct {
    /* The column's position among those that are not generated. */
    int place;
    /* Both are valid as long as the schema. */
    const char *name, *collation;
    /* The affinity, one of SQLite's letters: 'A' for none, 'B' for text, 'C' and following for numbers. */
    char affinity;
    int is_row_id;
    /* True if the key compares the column by the column's own collation. */
    int is_one;
} sqlcipherkit_key_form;

/* Reads a column of a table's primary key from the schema in memory.
 * number: 0 for the first of the key's columns in the order of the table. Returns 0 if there are not that many. */
int sqlcipherkit_key_column(sqlite3 *db, const char *schema, const char *table, int number, sqlcipherkit_key_form *key);

/* Returns whether a foreign key of a table is `DEFERRABLE INITIALLY DEFERRED`.
 * foreign_key: its number in `PRAGMA foreign_key_list`, whose rows have been read. */
int sqlcipherkit_is_deferred(sqlite3 *db, const char *schema, const char *table, int foreign_key);

/* Lets the triggers of a database whose names begin with a prefix rest: statements that are compiled from now on do not run them,
 * and those that write to their tables are compiled again. rest: 0 wakes them. It lasts as long as the schema stays in memory. */
void sqlcipherkit_rest_triggers(sqlite3 *db, const char *schema, const char *prefix, int rest);

/* A number that changes when the schema of one of the connection's databases changes, or when the set of databases does. 0
 * if it is not known, until SQLite reads the schema again. */
sqlite3_uint64 sqlcipherkit_schema_stamp(sqlite3 *db);

/* The part of the write-ahead log that the connection has seen, by its own commit or in its open read transaction. *log identifies
 * the log, which starts over from time to time, and *frame is its last valid frame. A later commit to the same log, by any process,
 * has a higher frame. Returns whether there is a write-ahead log. */
int sqlcipherkit_log_position(sqlite3 *db, const char *schema, sqlite3_uint64 *log, unsigned int *frame);
