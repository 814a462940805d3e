/* What Swift cannot say for itself: calls with variable arguments, and pointer constants. */
#ifndef SQLCIPHERKIT_SHIMS_H
#define SQLCIPHERKIT_SHIMS_H

#include "options.h"
#include "symbols.h"
#include "../../../Vendor/sqlcipher/sqlite3.h"


/* SQLITE_TRANSIENT: SQLite copies the bytes before the call returns. https://sqlite.org/c3ref/c_static.html */
static inline sqlite3_destructor_type sqlcipherkit_transient(void) {
    return SQLITE_TRANSIENT;
}

/* sqlite3_db_config for the options that take an int and give back what took effect.
 * Reads op and value (-1 asks only); writes *result. Returns SQLite's result code.
 * https://sqlite.org/c3ref/db_config.html */
static inline int sqlcipherkit_db_config(sqlite3 *db, int op, int value, int *result) {
    return sqlite3_db_config(db, op, value, result);
}

#endif
