/* The state of the disk: flushing, and the durability of commits. */
#pragma once

#include "sqlite.h"

/* Flushes a database's file, and its write-ahead log if the connection has one open, to the disk: all that any connection has
 * committed to it before. Does nothing for a database without a file. Returns SQLITE_OK, or SQLITE_IOERR_FSYNC. */
int sqlcipherkit_flush(sqlite3 *db, const char *schema);
