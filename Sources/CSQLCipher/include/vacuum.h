/* VACUUM without holding the whole database in memory, and without new row ids. */
#pragma once

#include "sqlite.h"

/* Announces the connection's next VACUUM. Its copy of the database then goes to an unnamed temporary file, encrypted with the key
 * of the connection's main database, or in plaintext if both are plaintext. If only one of the two is encrypted, or if the
 * database is in memory, the copy stays in memory, as without this call. Every row keeps its id. */
void sqlcipherkit_vacuum_begins(sqlite3 *db);

/* Says that the VACUUM has ended. */
void sqlcipherkit_vacuum_ended(sqlite3 *db);
