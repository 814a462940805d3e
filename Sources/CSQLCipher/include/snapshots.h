/* Snapshots of databases with a write-ahead log, beyond https://sqlite.org/c3ref/snapshot.html. */
#pragma once

#include "sqlite.h"

/* A snapshot of a schema as the connection saw it last: after a commit, what it has committed. The caller frees it.
 * SQLITE_ERROR for a database without a write-ahead log, or with one that nothing was ever written to. */
int sqlcipherkit_last_snapshot(sqlite3 *db, const char *schema, sqlite3_snapshot **snapshot);
