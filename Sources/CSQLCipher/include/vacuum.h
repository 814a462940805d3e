/* VACUUM without the memory of a whole database, and without new row ids. */
#pragma once

#include "sqlite.h"

/* Announces a VACUUM of a schema, to be run by this thread before anything else. Its copy of the database then goes to a temporary
 * file that has no name, encrypted with the key of the connection's main database; in plaintext if both are plaintext. Where only
 * one of the two is encrypted it stays in memory, as without this call. Every row keeps its id. */
void sqlcipherkit_vacuum_begins(sqlite3 *db, const char *schema);

/* That VACUUM has ended. */
void sqlcipherkit_vacuum_ended(sqlite3 *db);
