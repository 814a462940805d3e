/* The number of pages that a database has, and should have. Only engine.c includes this, after the amalgamation. */
#include "../include/page_counts.h"
#include "../include/query_only.h"

/* Takes a shared lock for a look at the pages, unless pages are in use: then a transaction or a statement holds a lock already, and
 * taking another would make the pager forget that it is writing, or which snapshot of a write-ahead log it reads. */
static int sqlcipherkit_lock_pages(Pager *pager) {
    return sqlite3PcacheRefCount(pager->pPCache) == 0 ? sqlite3PagerSharedLock(pager) : SQLITE_OK;
}

int sqlcipherkit_page_counts(sqlite3 *db, const char *schema, unsigned int *declared, unsigned int *present) {
    Btree *btree = sqlcipherkit_btree(db, schema);
    if (btree == NULL) return SQLITE_MISUSE;
    sqlite3_mutex_enter(db->mutex);
    Pager *pager = sqlite3BtreePager(btree);
    PgHdr *page;
    int count = 0;
    int rc = sqlcipherkit_lock_pages(pager);
    if (rc == SQLITE_OK) rc = sqlite3PagerGet(pager, 1, &page, 0);
    if (rc == SQLITE_OK) {
        sqlcipherkit_reader header = {page->pData, 28, sqlite3BtreeGetPageSize(btree)};
        *declared = sqlcipherkit_read_word(&header);
        sqlite3PagerPagecount(pager, &count);
        *present = (unsigned int)count;
        /* Also releases the lock, unless a transaction holds it. */
        sqlite3PagerUnrefNotNull(page);
        pagerUnlockIfUnused(pager);
    }
    sqlite3_mutex_leave(db->mutex);
    return rc;
}

int sqlcipherkit_check_page(sqlite3 *db, const char *schema, unsigned int number) {
    Btree *btree = sqlcipherkit_btree(db, schema);
    if (btree == NULL || number == 0) return SQLITE_MISUSE;
    sqlite3_mutex_enter(db->mutex);
    Pager *pager = sqlite3BtreePager(btree);
    codec_ctx *codec = sqlcipherkit_codec_of(btree);
    sqlite3_file *file = pager->fd;
    const int isAuthenticated = codec != NULL && (codec->flags & CIPHER_FLAG_HMAC) != 0;
    int rc = file == NULL || file->pMethods == NULL ? SQLITE_CANTOPEN : SQLITE_OK;
    if (rc == SQLITE_OK && isAuthenticated) rc = sqlcipherkit_ensure_key(codec);
    const int size = codec != NULL ? codec->page_sz : sqlite3BtreeGetPageSize(btree);
    if (rc == SQLITE_OK && !sqlcipherkit_is_lock_page(number, size)) {
        unsigned char *bytes = sqlite3_malloc(size);
        rc = bytes == NULL ? SQLITE_NOMEM : file->pMethods->xRead(file, bytes, size, (i64)(number - 1) * size);
        if (rc == SQLITE_OK && isAuthenticated) rc = sqlcipherkit_authenticate(codec, number, bytes);
        sqlite3_free(bytes);
    }
    sqlite3_mutex_leave(db->mutex);
    return rc;
}

int sqlcipherkit_skip_page_checks(sqlite3 *db, const char *schema) {
    codec_ctx *codec = sqlcipherkit_codec_of(sqlcipherkit_btree(db, schema));
    if (codec == NULL || !db->autoCommit) return SQLITE_MISUSE;
    /* Without the flag, a page would be written without its code. */
    sqlcipherkit_set_query_only(db, 1);
    codec->flags &= ~(unsigned int)CIPHER_FLAG_HMAC;
    return SQLITE_OK;
}

int sqlcipherkit_is_page_in_log(sqlite3 *db, const char *schema, unsigned int number) {
    Btree *btree = sqlcipherkit_btree(db, schema);
    if (btree == NULL || number == 0) return 0;
    sqlite3_mutex_enter(db->mutex);
    Pager *pager = sqlite3BtreePager(btree);
    u32 frame = 0;
    if (sqlcipherkit_lock_pages(pager) == SQLITE_OK) {
        if (pager->pWal == NULL || sqlite3WalFindFrame(pager->pWal, number, &frame) != SQLITE_OK) frame = 0;
        pagerUnlockIfUnused(pager);
    }
    sqlite3_mutex_leave(db->mutex);
    return frame != 0;
}

int sqlcipherkit_page_layout(sqlite3 *db, const char *schema, int *size, int *usable, unsigned int *count) {
    Btree *btree = sqlcipherkit_btree(db, schema);
    if (btree == NULL) return SQLITE_MISUSE;
    sqlite3_mutex_enter(db->mutex);
    Pager *pager = sqlite3BtreePager(btree);
    codec_ctx *codec = sqlcipherkit_codec_of(btree);
    int pages = 0;
    int rc = sqlcipherkit_lock_pages(pager);
    if (rc == SQLITE_OK) {
        sqlite3PagerPagecount(pager, &pages);
        *count = (unsigned int)pages;
        *size = codec != NULL ? codec->page_sz : sqlite3BtreeGetPageSize(btree);
        *usable = codec != NULL ? codec->page_sz - codec->reserve_sz : *size;
        pagerUnlockIfUnused(pager);
    }
    sqlite3_mutex_leave(db->mutex);
    return rc;
}

int sqlcipherkit_copy_page(sqlite3 *db, const char *schema, unsigned int number, void *bytes) {
    Btree *btree = sqlcipherkit_btree(db, schema);
    if (btree == NULL || number == 0) return SQLITE_MISUSE;
    sqlite3_mutex_enter(db->mutex);
    Pager *pager = sqlite3BtreePager(btree);
    PgHdr *page = NULL;
    int pages = 0;
    int rc = sqlcipherkit_lock_pages(pager);
    if (rc == SQLITE_OK) sqlite3PagerPagecount(pager, &pages);
    if (rc == SQLITE_OK) rc = number > (unsigned int)pages ? SQLITE_CORRUPT : sqlite3PagerGet(pager, number, &page, 0);
    if (rc == SQLITE_OK) {
        memcpy(bytes, page->pData, (size_t)sqlite3BtreeGetPageSize(btree));
        sqlite3PagerUnrefNotNull(page);
    }
    pagerUnlockIfUnused(pager);
    sqlite3_mutex_leave(db->mutex);
    return rc;
}

int sqlcipherkit_decrypt_image(sqlite3 *db, const char *schema, unsigned int number, void *bytes) {
    Btree *btree = sqlcipherkit_btree(db, schema);
    if (btree == NULL || number == 0) return SQLITE_MISUSE;
    codec_ctx *codec = sqlcipherkit_codec_of(btree);
    if (codec == NULL) return SQLITE_OK;
    sqlite3_mutex_enter(db->mutex);
    int rc = sqlcipherkit_ensure_key(codec);
    if (rc == SQLITE_OK && (codec->flags & CIPHER_FLAG_HMAC) != 0) {
        rc = sqlcipherkit_authenticate(codec, number, bytes);
    }
    if (rc == SQLITE_OK) rc = sqlcipherkit_decrypt_bytes(codec, number, bytes);
    sqlite3_mutex_leave(db->mutex);
    return rc;
}
