/* Tables and indexes copied and compared as they are stored, from one connection to another. */
#pragma once

#include "sqlite.h"

/* A table or an index of one database, and the one in another that holds, or is to hold, the same. */
typedef struct sqlcipherkit_trees sqlcipherkit_trees;

/* Gives `to`'s main database, in a transaction, the encoding, the format and the numbers of a database's header, and a schema's
 * version of its own. */
int sqlcipherkit_copy_header(sqlite3 *from, const char *schema, sqlite3 *to);

/* Makes an empty table, or an empty index, in the main database of a connection in a transaction, and sets its root page. */
int sqlcipherkit_make_tree(sqlite3 *to, int is_table, unsigned int *root);

/* Opens two trees by their root pages: one of a database that is being read in a transaction, and one of `to`'s main database.
 * With `is_filled`, records are to be copied to the second, which is empty. A table without row ids is stored as an index is. */
int sqlcipherkit_open_trees(
    sqlite3 *from, const char *schema, unsigned int root, sqlite3 *to, unsigned int to_root, int is_table, int is_filled,
    sqlcipherkit_trees **trees);

/* Copies up to `count` records, in the order in which they are stored: no collation and no function is asked. Returns SQLITE_DONE
 * after the last one, SQLITE_ROW before it, and SQLITE_CORRUPT for row ids that do not ascend. */
int sqlcipherkit_copy_records(sqlcipherkit_trees *trees, int count);

/* Compares up to `count` records byte for byte. Returns SQLITE_DONE if all were the same, SQLITE_ROW before the last one, and
 * SQLITE_MISMATCH for a difference. */
int sqlcipherkit_compare_records(sqlcipherkit_trees *trees, int count);

/* Returns whether the last of these calls has failed at the second tree. */
int sqlcipherkit_failed_at_target(const sqlcipherkit_trees *trees);

/* Closes both trees. NULL is allowed. */
void sqlcipherkit_close_trees(sqlcipherkit_trees *trees);
