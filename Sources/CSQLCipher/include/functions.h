/* Functions and collations of a program that stood for SQLite's own. */
#pragma once

#include "sqlite.h"

/* A function that was removed (sqlite3_create_function_v2 without a function) leaves an empty definition, which hides SQLite's own
 * function of that name. With `hidden` 1 the empty definition with `count` parameters (-1: any number) is put where no call finds
 * it; with 0 one that was put away comes back, to be filled again. Definitions that are not empty stay as they are. */
void sqlcipherkit_hide_removed_function(sqlite3 *db, const char *name, int count, int hidden);

/* Removes a collation; one of SQLite's own (BINARY, NOCASE, RTRIM) is what it was. Returns an SQLite result code. */
int sqlcipherkit_remove_collation(sqlite3 *db, const char *name);
