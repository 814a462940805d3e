/* Makes a connection read-only for a while. */
#pragma once

#include "sqlite.h"

/* Sets `PRAGMA query_only` without compiling a statement: 1 makes every write through the connection fail with SQLITE_READONLY, 0
 * allows writes again. Must not be called while a statement runs. */
void sqlcipherkit_set_query_only(sqlite3 *db, int on);

/* Returns whether query_only is on. */
int sqlcipherkit_is_query_only(sqlite3 *db);
