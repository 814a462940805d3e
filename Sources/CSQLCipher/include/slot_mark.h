/* The mark of the key slots, which a database keeps to remember them: one row of the table sqlcipherkit_key_slots.
 *
 * On a guarded connection no SQL changes, drops or replaces that table, or creates anything with its name: such a statement is not
 * compiled (SQLITE_AUTH). Reading it is like reading any other table. */
#pragma once

#include "sqlite.h"

#define SQLCIPHERKIT_SLOT_MARK "sqlcipherkit_key_slots"

/* 1 if a table's name is that of the mark, in upper or lower case; otherwise 0. */
int sqlcipherkit_is_slot_mark(const char *name);

/* Writes the row, in a savepoint: `id` and `change` have 16 bytes, `slots` has `slots_count`. `change` and `slots` may be NULL. A
 * table that is missing, or has other columns, is created. Returns an SQLite result code. */
int sqlcipherkit_set_slot_mark(sqlite3 *db, const char *schema, const void *id, sqlite3_int64 generation, const void *change,
                               const void *slots, int slots_count);

/* Drops the table, if there is one. Returns an SQLite result code. */
int sqlcipherkit_remove_slot_mark(sqlite3 *db, const char *schema);

/* Lets SQL on this connection write the table until the same call with 0, to copy a whole database. Calls nest. */
void sqlcipherkit_allow_slot_mark(sqlite3 *db, int is_allowed);
