/* A connection that may not write. Only engine.c includes this, after the amalgamation. */
#include "../include/query_only.h"

void sqlcipherkit_set_query_only(sqlite3 *db, int on) {
    /* Checked when a statement begins to write, not when it is compiled. */
    if (on) db->flags |= SQLITE_QueryOnly;
    else db->flags &= ~(u64)SQLITE_QueryOnly;
}

int sqlcipherkit_is_query_only(sqlite3 *db) { return (db->flags & SQLITE_QueryOnly) != 0; }
