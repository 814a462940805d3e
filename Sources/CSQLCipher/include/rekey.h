/* Another key for a database in place. */
#pragma once

#include "sqlite.h"

/* sqlite3_rekey_v2 with three differences: it reports progress and can be stopped, it notices a commit that failed, and
 * after any failure the connection has its old key and salt back, where the original leaves the new key set for writing.
 * `progress`, unless NULL, is called with `argument`, the number of pages rewritten and that of all pages, every 64 pages,
 * before the first and before the commit; an answer other than 0 rolls back and makes the call return SQLITE_INTERRUPT.
 * The caller holds the exclusive lock and is outside of a transaction. Returns an SQLite result code. */
int sqlcipherkit_rekey(sqlite3 *db, const char *schema, const void *key, int count,
                       int (*progress)(void *argument, unsigned int done, unsigned int total), void *argument);
