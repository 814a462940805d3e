/* Writing the pages of a replica into a database. Only engine.c includes this, after the amalgamation. */
#include "../include/replay.h"

int sqlcipherkit_replay_page(sqlite3 *db, const char *schema, unsigned int number, void *bytes) {
    Btree *btree = sqlcipherkit_btree(db, schema);
    if (btree == NULL || number == 0 || sqlite3_txn_state(db, schema) != SQLITE_TXN_WRITE) return SQLITE_MISUSE;
    Pager *pager = sqlite3BtreePager(btree);
    if (sqlcipherkit_is_lock_page(number, sqlite3BtreeGetPageSize(btree))) return SQLITE_OK;
    int rc = sqlcipherkit_decrypt_image(db, schema, number, bytes);
    if (rc != SQLITE_OK) return rc;
    sqlite3_mutex_enter(db->mutex);
    PgHdr *page = NULL;
    rc = sqlite3PagerGet(pager, number, &page, PAGER_GET_NOCONTENT);
    if (rc == SQLITE_OK) rc = sqlite3PagerWrite(page);
    if (rc == SQLITE_OK) {
        memcpy(page->pData, bytes, (size_t)sqlite3BtreeGetPageSize(btree));
        /* The b-tree parses the page again (MemPage.isInit). */
        ((unsigned char *)sqlite3PagerGetExtra(page))[0] = 0;
    }
    if (page != NULL) sqlite3PagerUnrefNotNull(page);
    sqlite3_mutex_leave(db->mutex);
    return rc;
}

int sqlcipherkit_end_replay(sqlite3 *db, const char *schema, unsigned int pages) {
    Btree *btree = sqlcipherkit_btree(db, schema);
    if (btree == NULL || pages == 0 || sqlite3_txn_state(db, schema) != SQLITE_TXN_WRITE) return SQLITE_MISUSE;
    sqlite3_mutex_enter(db->mutex);
    Pager *pager = sqlite3BtreePager(btree);
    if (pages < pager->dbSize) sqlite3PagerTruncateImage(pager, pages);
    sqlite3_mutex_leave(db->mutex);
    return SQLITE_OK;
}
