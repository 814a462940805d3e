/* A column of the current row in one call, where SQLite's own API takes two or three. Compiled with the engine
 * (Engine/columns.h), so that storage class and value are read in one access to the row. */
#pragma once

#include "sqlite.h"

/* Column `index` of the current row as an integer. Returns its storage class (SQLITE_INTEGER … SQLITE_NULL) and writes
 * *value only if that is SQLITE_INTEGER. SQLITE_NULL if there is no such column or no current row. Nothing is converted. */
int sqlcipherkit_column_int64(sqlite3_stmt *statement, int index, sqlite3_int64 *value);

/* Column `index` as a floating-point number: the same, for SQLITE_FLOAT. */
int sqlcipherkit_column_double(sqlite3_stmt *statement, int index, double *value);

/* Column `index` as bytes: the UTF-8 of a SQLITE_TEXT, or the content of a SQLITE_BLOB, valid until the statement moves on. Returns
 * the storage class, and writes *bytes and *count only for these two. *bytes is NULL if *count is 0 or if memory ran out, in which
 * case *count is -1. */
int sqlcipherkit_column_bytes(sqlite3_stmt *statement, int index, const void **bytes, int *count);

/* The value that is bound to a parameter, counted from 1; NULL for an invalid number. Copy it before you convert it. */
sqlite3_value *sqlcipherkit_bound_value(sqlite3_stmt *statement, int index);

/* Returns whether two parameters of a statement have the same value: of one storage class, and equal numbers or the same bytes. 0
 * if one of them does not exist or memory runs out. */
int sqlcipherkit_is_same_bound(sqlite3_stmt *statement, int index, int other);
