/* How much a commit waits for the disk where the file has to stay whole, and no more. Only engine.c includes this, after the
 * amalgamation. */

/* What Db.bSyncSet is for such a database; PRAGMA synchronous makes it 1. */
enum { sqlcipherkit_keeps_whole = 2 };

/* NORMAL is enough with a write-ahead log; a rollback journal takes FULL. The journal mode is a property of the file that SQL, the
 * end of a loan or another connection can change, so it is looked at wherever a transaction begins to write. */
static void sqlcipherkit_fit_durability(const Btree *btree) {
    sqlite3 *db = btree->db;
    Db *database = db->aDb;
    for (int left = db->nDb; left > 0 && database->pBt != btree; left--) database++;
    if (database == db->aDb + db->nDb || database->bSyncSet != sqlcipherkit_keeps_whole) return;
    Pager *pager = btree->pBt->pPager;
    const u8 level = pager->journalMode == PAGER_JOURNALMODE_WAL ? PAGER_SYNCHRONOUS_NORMAL : PAGER_SYNCHRONOUS_FULL;
    if (database->safety_level == level) return;
    database->safety_level = level;
    sqlite3PagerSetFlags(pager, level | (db->flags & PAGER_FLAGS_MASK));
}
