/* An authorizer that is asked about everything that a statement reads. Compiled with the engine (Engine/access.h). */
#pragma once

#include "sqlite.h"

/* The action codes that the authorizer gets beyond SQLite's own (https://sqlite.org/c3ref/c_alter_table.html). Any result other
 * than SQLITE_OK refuses the action. */

/* The compiled statement opens a table, or the table that an index belongs to. Arguments: the table's name, NULL, its schema. */
#define SQLCIPHERKIT_OPENS_TABLE 1000
/* The compiled statement opens a virtual table. Arguments: its name, NULL, its schema (NULL for a table-valued function). */
#define SQLCIPHERKIT_OPENS_VIRTUAL_TABLE 1001
/* Rows may come in the order of an index. Arguments: the table's name, the name of a column by which the index sorts ("" for an
 * expression), the schema. If this is refused, the statement does not use the indexes of the table. */
#define SQLCIPHERKIT_SORTS_BY 1002

/* Sets an authorizer, like sqlite3_set_authorizer (https://sqlite.org/c3ref/set_authorizer.html), that also gets the codes above,
 * and SQLITE_READ for every column that a query refers to once its names are resolved. That includes columns joined by USING and
 * NATURAL, which SQLite does not ask about. Where SQLite does ask, the authorizer is asked about a column twice. The
 * connection must come from sqlcipherkit_open. */
void sqlcipherkit_set_authorizer(
    sqlite3 *db, int (*authorizer)(void *, int, const char *, const char *, const char *, const char *), void *context);

/* Returns whether the statement being compiled was created by another statement that is running or being compiled, as virtual
 * tables do to read the tables that hold their content. For an authorizer to call. */
int sqlcipherkit_is_inner(sqlite3 *db);
