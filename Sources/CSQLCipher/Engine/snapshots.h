/* A snapshot of what a writer has just committed. Only engine.c includes this, after the amalgamation. */
#include "../include/snapshots.h"

int sqlcipherkit_last_snapshot(sqlite3 *db, const char *schema, sqlite3_snapshot **snapshot) {
    *snapshot = NULL;
    Btree *btree = sqlcipherkit_btree(db, schema);
    if (btree == NULL) return SQLITE_ERROR;
    /* sqlite3_snapshot_get needs a transaction, which would see what other processes have committed since. */
    return sqlite3PagerSnapshotGet(sqlite3BtreePager(btree), snapshot);
}
