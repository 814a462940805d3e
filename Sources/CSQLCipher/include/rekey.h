/* Changes the key of a database in place. */
#pragma once

#include "sqlite.h"

/* Like sqlite3_rekey_v2, with three differences: it reports progress and can be stopped, it notices a failed commit, and after any
 * failure the connection gets its old key and salt back, where the original leaves the new key set for writing. `progress`, unless
 * NULL, is called with `argument`, the number of pages rewritten and the number of all pages, every 64 pages, before the first and
 * before the commit; a result other than 0 rolls back and makes this function return SQLITE_INTERRUPT. The caller must hold the
 * exclusive lock and be outside a transaction. Returns an SQLite result code. */
int sqlcipherkit_rekey(sqlite3 *db, const char *schema, const void *key, int count,
                       int (*progress)(void *argument, unsigned int done, unsigned int total), void *argument);
