/* A connection that may not write until it is told that it may again. */
#ifndef SQLCIPHERKIT_QUERY_ONLY_H
#define SQLCIPHERKIT_QUERY_ONLY_H

#include "options.h"
#include "symbols.h"
#include "../../../Vendor/sqlcipher/sqlite3.h"

/* `PRAGMA query_only`, without the compilation of a statement: 1 makes every write through the connection fail with
 * SQLITE_READONLY, 0 lifts that. Outside of a statement. */
void sqlcipherkit_set_query_only(sqlite3 *db, int on);

#endif
