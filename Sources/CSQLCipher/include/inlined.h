/* The SQLite functions that the Swift layer's inlinable functions call, by the names of their symbols.
 *
 * If a program also uses another SQLite, an inlined call by the common name would call whichever of the two the compiler saw
 * first. */
#pragma once

#include "sqlite.h"

int sqlcipherkit_sqlite3_bind_blob64(sqlite3_stmt *, int, const void *, sqlite3_uint64, void (*)(void *));
int sqlcipherkit_sqlite3_bind_double(sqlite3_stmt *, int, double);
int sqlcipherkit_sqlite3_bind_int64(sqlite3_stmt *, int, sqlite3_int64);
int sqlcipherkit_sqlite3_bind_null(sqlite3_stmt *, int);
int sqlcipherkit_sqlite3_bind_parameter_count(sqlite3_stmt *);
int sqlcipherkit_sqlite3_bind_text64(sqlite3_stmt *, int, const char *, sqlite3_uint64, void (*)(void *), unsigned char);
int sqlcipherkit_sqlite3_bind_zeroblob(sqlite3_stmt *, int, int);
int sqlcipherkit_sqlite3_column_type(sqlite3_stmt *, int);
int sqlcipherkit_sqlite3_data_count(sqlite3_stmt *);
int sqlcipherkit_sqlite3_step(sqlite3_stmt *);
int sqlcipherkit_sqlite3_stmt_readonly(sqlite3_stmt *);
int sqlcipherkit_sqlite3_stmt_status(sqlite3_stmt *, int, int);
