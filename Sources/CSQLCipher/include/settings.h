/* The settings of a connection that a pragma can change, to be put back when the connection is returned. */
#pragma once

#include "sqlite.h"

typedef struct sqlcipherkit_settings sqlcipherkit_settings;

/* Room for the settings of one connection; NULL if there is no memory. Freed with sqlcipherkit_free_settings. */
sqlcipherkit_settings *sqlcipherkit_new_settings(void);
void sqlcipherkit_free_settings(sqlcipherkit_settings *settings);

/* Reads everything that a pragma sets for the connection alone, or for one of its databases as long as it is open: the switches,
 * such as `PRAGMA foreign_keys`, waiting for locks, caches, limits, `synchronous`, `secure_delete`, the kind of rollback journal,
 * `LIKE`. */
void sqlcipherkit_read_settings(sqlite3 *db, sqlcipherkit_settings *settings);

/* Restores what has changed, except of databases that have been attached since. Must not be called in a callback, during a
 * statement's step or in a transaction. */
void sqlcipherkit_restore_settings(sqlite3 *db, const sqlcipherkit_settings *settings);

/* From now on, commits to a database wait for the disk as much as keeps its file whole, in each journal mode that it gets: NORMAL
 * with a write-ahead log, FULL without one. Until `PRAGMA synchronous` sets something else. In a transaction, it applies from the
 * next one on that writes. Nothing for the temporary database. */
void sqlcipherkit_keep_whole(sqlite3 *db, const char *schema);

/* Returns whether sqlcipherkit_keep_whole is in effect for a database. */
int sqlcipherkit_is_kept_whole(sqlite3 *db, const char *schema);
