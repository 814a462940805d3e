/* An authorizer that is asked for everything that a statement reads. Compiled with the engine (Engine/access.h). */
#pragma once

#include "sqlite.h"

/* What the authorizer is asked beyond SQLite's own actions (https://sqlite.org/c3ref/c_alter_table.html). Another answer than
 * SQLITE_OK refuses it. */

/* The compiled statement opens a table, or a table that an index belongs to: its name, nothing, its schema. */
#define SQLCIPHERKIT_OPENS_TABLE 1000
/* The compiled statement opens a virtual table: its name, nothing, its schema, which is NULL for a table-valued function. */
#define SQLCIPHERKIT_OPENS_VIRTUAL_TABLE 1001
/* Rows may come in the order of an index: the name of the table, that of a column by which the index sorts, or "" for an
 * expression, the schema. Refused, the statement does not use the indexes of the table. */
#define SQLCIPHERKIT_SORTS_BY 1002

/* sqlite3_set_authorizer (https://sqlite.org/c3ref/set_authorizer.html) for an authorizer that is asked more: SQLITE_READ for
 * every column that a query refers to once its names are resolved, so that those are among them that USING and NATURAL
 * join, which SQLite does not ask for; and what is defined above. A column is asked for twice where SQLite does ask.
 * Returns an SQLite result code. */
int sqlcipherkit_set_authorizer(
    sqlite3 *db, int (*authorizer)(void *, int, const char *, const char *, const char *, const char *), void *context);

/* Whether the statement that is being compiled is one that a running or compiling statement has made, as virtual tables do to
 * read the tables in which they keep their content. To be called by an authorizer. */
int sqlcipherkit_is_inner(sqlite3 *db);
