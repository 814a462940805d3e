/* Changes the key of every page. Only engine.c includes this, after the amalgamation. */
#include "../include/rekey.h"
#include "../include/wipe.h"

/* Reads a page and marks it for writing, which saves it in the journal. */
static int sqlcipherkit_journal_page(Pager *pager, Pgno number) {
    PgHdr *page;
    int rc = sqlite3PagerGet(pager, number, &page, 0);
    if (rc != SQLITE_OK) return rc;
    rc = sqlite3PagerWrite(page);
    sqlite3PagerUnref(page);
    return rc;
}

/* Reads and marks every page for writing; the pager encrypts them with the write key as they leave its cache. */
static int sqlcipherkit_rewrite_pages(Pager *pager, int (*progress)(void *, unsigned int, unsigned int), void *argument) {
    int total = 0;
    sqlite3PagerPagecount(pager, &total);
    for (Pgno number = 1; number <= (Pgno)total; number++) {
        if (progress && number % 64 == 1 && progress(argument, number - 1, (unsigned int)total)) return SQLITE_INTERRUPT;
        /* The page of the lock byte is never used. */
        if (sqlite3pager_is_sj_pgno(pager, number)) continue;
        int rc = sqlcipherkit_journal_page(pager, number);
        /* A damaged page that was made whole, and left the cache since, has the new key already. */
        if (rc == SQLITE_CORRUPT && pager->pInJournal != NULL && sqlite3BitvecTest(pager->pInJournal, number)) continue;
        if (rc != SQLITE_OK) return rc;
    }
    return progress && progress(argument, (unsigned int)total, (unsigned int)total) ? SQLITE_INTERRUPT : SQLITE_OK;
}

static int sqlcipherkit_journal_damaged_page(void *argument, Pgno number) {
    Pager *pager = argument;
    codec_ctx *codec = pager->pCodec;
    const int rc = sqlite3OsRead(pager->fd, codec->buffer, codec->page_sz, (i64)(number - 1) * codec->page_sz);
    if (rc != SQLITE_OK || sqlcipherkit_authenticate(codec, number, codec->buffer) == SQLITE_OK) return 0;
    return sqlcipherkit_journal_page(pager, number);
}

/* Makes damaged free pages whole. Later they could not be told from others, as the freelist may be in the file with the new key. */
static int sqlcipherkit_journal_damaged_pages(Pager *pager) {
    codec_ctx *codec = pager->pCodec;
    if (pagerUseWal(pager) || !SQLCIPHER_FLAG_GET(codec->flags, CIPHER_FLAG_HMAC)) return SQLITE_OK;
    const int rc = sqlcipherkit_each_free_page(pager, codec, sqlcipherkit_journal_damaged_page, pager);
    return rc > 0 ? rc : SQLITE_OK;
}

int sqlcipherkit_rekey(sqlite3 *db, const char *schema, const void *key, int count,
                       int (*progress)(void *, unsigned int, unsigned int), void *argument) {
    int index = sqlite3FindDbName(db, schema);
    if (index < 0 || key == NULL || count <= 0) return SQLITE_MISUSE;
    sqlite3_mutex_enter(db->mutex);
    int rc = SQLITE_MISUSE;
    Btree *btree = db->aDb[index].pBt;
    codec_ctx *codec = sqlcipherkit_codec_of(btree);
    if (codec != NULL) {
        /* Deriving the new key may set a new salt, which both keys share. */
        unsigned char salt[FILE_HEADER_SZ];
        memcpy(salt, codec->kdf_salt, sizeof salt);
        rc = sqlite3BtreeBeginTrans(btree, 1, 0);
        /* The first page goes to the journal before the new key is set. Otherwise the journal would have the old page under
         * the new salt, and after a rollback the passphrase could not open the database. */
        if (rc == SQLITE_OK) rc = sqlcipherkit_journal_page(sqlite3BtreePager(btree), 1);
        if (rc == SQLITE_OK) rc = sqlcipherkit_journal_damaged_pages(sqlite3BtreePager(btree));
        if (rc == SQLITE_OK) rc = codec_set_pass_key(db, index, key, count, CIPHER_WRITE_CTX);
        if (rc == SQLITE_OK) rc = sqlcipherkit_rewrite_pages(sqlite3BtreePager(btree), progress, argument);
        if (rc == SQLITE_OK) rc = sqlite3BtreeCommit(btree);
        if (rc == SQLITE_OK) {
            rc = sqlcipher_codec_key_copy(codec, CIPHER_WRITE_CTX);
        } else {
            sqlite3BtreeRollback(btree, SQLITE_ABORT_ROLLBACK, 0);
            sqlcipher_codec_key_copy(codec, CIPHER_READ_CTX);
            memcpy(codec->kdf_salt, salt, sizeof salt);
        }
    }
    sqlite3_mutex_leave(db->mutex);
    sqlcipherkit_wipe_traces();
    return rc;
}
