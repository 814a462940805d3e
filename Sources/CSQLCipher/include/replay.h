/* Writing the pages of a replica into a database. */
#pragma once

#include "sqlite.h"

/* Writes a page, counted from 1, in the open write transaction. `bytes` is the page as it is in a file of this database's key; it
 * has the size of a page and is decrypted in place. Nothing of the page is read before. Returns SQLITE_CORRUPT if the page does not
 * match its authentication code, SQLITE_MISUSE without a write transaction, or another error; then the page is as it was. */
int sqlcipherkit_replay_page(sqlite3 *db, const char *schema, unsigned int number, void *bytes);

/* Sets the number of pages that the database has after the open write transaction. Returns an SQLite result code. */
int sqlcipherkit_end_replay(sqlite3 *db, const char *schema, unsigned int pages);
