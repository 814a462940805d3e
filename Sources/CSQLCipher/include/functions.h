/* Removes a program's functions and collations that replaced SQLite's own. */
#pragma once

#include "sqlite.h"

/* A function that was removed (sqlite3_create_function_v2 without a function) leaves an empty definition, which hides SQLite's own
 * function of that name. With `hidden` 1, the empty definition with `count` parameters (-1: any number) is moved to where no call
 * finds it; with 0, one that was moved away comes back, to be filled again. Definitions that are not empty are not changed. */
void sqlcipherkit_hide_removed_function(sqlite3 *db, const char *name, int count, int hidden);

/* Removes a collation. If it is one of SQLite's own (BINARY, NOCASE, RTRIM), SQLite's function takes its place again. Returns an
 * SQLite result code. */
int sqlcipherkit_remove_collation(sqlite3 *db, const char *name);
