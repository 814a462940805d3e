/* A connection that may not write until it is told that it may again. */
#pragma once

#include "sqlite.h"

/* `PRAGMA query_only`, without the compilation of a statement: 1 makes every write through the connection fail with
 * SQLITE_READONLY, 0 lifts that. Outside of a statement. */
void sqlcipherkit_set_query_only(sqlite3 *db, int on);

/* Whether it is on. */
int sqlcipherkit_is_query_only(sqlite3 *db);
