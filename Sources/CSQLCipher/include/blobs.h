/* Blob handles that leave nothing behind. Compiled with the engine (Engine/blobs.h). */
#pragma once

#include "sqlite.h"

/* sqlite3_blob_open, for handles that write nothing past an index: one for writing is refused, with SQLITE_ERROR and a message, if
 * a trigger of the table would bring a full-text index or a table of vectors up to date after an UPDATE of the column. SQLite
 * itself refuses only columns in an index of its own or in a foreign key (https://sqlite.org/c3ref/blob_open.html). */
int sqlcipherkit_open_blob(sqlite3 *db, const char *schema, const char *table, const char *column, sqlite3_int64 row_id, int writes,
                           sqlite3_blob **blob);

/* sqlite3_blob_write, for handles that no trigger hears of: first, the row is noted for a change log that would hear of an UPDATE.
 * Like all that the handle writes, the note is committed when the handle is closed. */
int sqlcipherkit_write_blob(sqlite3 *db, const char *schema, const char *table, sqlite3_int64 row_id, sqlite3_blob *blob,
                            const void *bytes, int count, int offset);
