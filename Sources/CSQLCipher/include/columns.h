/* A column of the current row in one call, where SQLite's own API takes two or three. Compiled with the engine
 * (Engine/columns.h), because storage class and value are then read with one look at the row. */
#pragma once

#include "sqlite.h"

/* Column `index` of the current row as an integer. Returns its storage class (SQLITE_INTEGER … SQLITE_NULL) and writes
 * *value only where that is SQLITE_INTEGER. Outside the row: SQLITE_NULL. Nothing is converted. */
int sqlcipherkit_column_int64(sqlite3_stmt *statement, int index, sqlite3_int64 *value);

/* Column `index` as a floating-point number: the same, for SQLITE_FLOAT. */
int sqlcipherkit_column_double(sqlite3_stmt *statement, int index, double *value);

/* Column `index` as bytes: the UTF-8 of a SQLITE_TEXT, the content of a SQLITE_BLOB, valid until the statement moves on.
 * Returns the storage class and writes *bytes and *count only for these two. *bytes is NULL where *count is 0 or memory
 * ran out; in the latter case *count is -1. */
int sqlcipherkit_column_bytes(sqlite3_stmt *statement, int index, const void **bytes, int *count);

/* The value that is bound to a parameter, counted from 1; NULL for another number. To be copied before it is converted. */
sqlite3_value *sqlcipherkit_bound_value(sqlite3_stmt *statement, int index);
