/* How many pages a database has, and should have. */
#pragma once

#include "sqlite.h"

/* The number of pages that a database's header declares (https://sqlite.org/fileformat2.html, offset 28), and of those that are
 * there, in the file or its write-ahead log. SQLite itself refuses every statement on a file that lacks some.
 * Returns an SQLite result code; writes both numbers on SQLITE_OK. */
int sqlcipherkit_page_counts(sqlite3 *db, const char *schema, unsigned int *declared, unsigned int *present);
