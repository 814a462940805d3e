/* The flush of a file to the disk, and the durability of commits, which wait for the disk as much as keeps the file whole, and no
 * more. Only engine.c includes this, after the amalgamation. */
#include "../include/durability.h"

/* The value of Db.bSyncSet for such a database; PRAGMA synchronous makes it 1. */
enum { sqlcipherkit_keeps_whole = 2 };

/* NORMAL is enough with a write-ahead log. A rollback journal takes EXTRA: after a commit that has made the file smaller, SQLite
 * truncates the file, and with FULL a power cut could keep that, and bring back the journal that undoes the commit. The journal
 * mode is a property of the file that SQL, the end of a loan or another connection can change, so it is looked at wherever a
 * transaction begins to write. */
static void sqlcipherkit_fit_durability(Btree *btree) {
    sqlite3 *db = btree->db;
    Db *database = db->aDb;
    for (int left = db->nDb; left > 0 && database->pBt != btree; left--) database++;
    if (database == db->aDb + db->nDb || database->bSyncSet != sqlcipherkit_keeps_whole) return;
    const int has_log = sqlite3PagerGetJournalMode(sqlite3BtreePager(btree)) == PAGER_JOURNALMODE_WAL;
    const u8 level = has_log ? PAGER_SYNCHRONOUS_NORMAL : PAGER_SYNCHRONOUS_EXTRA;
    if (database->safety_level == level) return;
    database->safety_level = level;
    sqlite3BtreeSetPagerFlags(btree, level | (db->flags & PAGER_FLAGS_MASK));
}

#ifndef SQLCIPHERKIT_PLAIN_SYMBOLS
int sqlcipherkit_flush(sqlite3 *db, const char *schema) {
    int rc = SQLITE_OK;
    sqlite3_mutex_enter(db->mutex);
    const int index = sqlcipherkit_place_of(db, schema);
    Btree *const btree = index >= 0 ? db->aDb[index].pBt : NULL;
    if (btree != NULL) {
        sqlite3BtreeEnter(btree);
        const Pager *pager = sqlite3BtreePager(btree);
        if (!pager->memDb && !pager->tempFile && pager->fd->pMethods != NULL) {
            /* A log's first flush flushes the folder too. */
            sqlite3_file *log = NULL;
            if (pager->pWal != NULL) rc = sqlite3_file_control(db, schema, SQLITE_FCNTL_JOURNAL_POINTER, &log);
            if (log != NULL) rc = log->pMethods->xSync(log, SQLITE_SYNC_FULL);
            /* Where nothing else is flushed, a checkpoint leaves the log's pages in memory. */
            if (rc == SQLITE_OK) rc = pager->fd->pMethods->xSync(pager->fd, SQLITE_SYNC_FULL);
        }
        sqlite3BtreeLeave(btree);
    }
    sqlite3_mutex_leave(db->mutex);
    return rc;
}
#endif
