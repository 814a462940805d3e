/* How many pages a database has, and should have. engine.c includes this after the amalgamation; nothing else does. */
#include "../include/page_counts.h"

int sqlcipherkit_page_counts(sqlite3 *db, const char *schema, unsigned int *declared, unsigned int *present) {
    Btree *btree = sqlcipherkit_btree(db, schema);
    if (btree == NULL) return SQLITE_MISUSE;
    sqlite3_mutex_enter(db->mutex);
    Pager *pager = sqlite3BtreePager(btree);
    PgHdr *page;
    int count = 0;
    int rc = sqlite3PagerSharedLock(pager);
    if (rc == SQLITE_OK) rc = sqlite3PagerGet(pager, 1, &page, 0);
    if (rc == SQLITE_OK) {
        *declared = sqlite3Get4byte((unsigned char *)sqlite3PagerGetData(page) + 28);
        sqlite3PagerPagecount(pager, &count);
        *present = (unsigned int)count;
        /* Also gives the lock back, unless a transaction has it. */
        sqlite3PagerUnrefPageOne(page);
    }
    sqlite3_mutex_leave(db->mutex);
    return rc;
}
