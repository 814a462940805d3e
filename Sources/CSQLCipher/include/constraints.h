/* Copies rows that a table would not accept as new. */
#pragma once

#include "sqlite.h"

/* Makes this connection forget, until it reads the schema again, which columns of a schema's tables are NOT NULL: an INSERT accepts
 * NULL in them, and integrity_check does not report it. The schema must have been read. Queries may still rely on an index of such
 * columns to have no NULL. Returns SQLITE_OK, or SQLITE_MISUSE for an unknown schema. */
int sqlcipherkit_allow_nulls(sqlite3 *db, const char *schema);
