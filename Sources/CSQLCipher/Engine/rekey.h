/* Changes the key of every page. Only engine.c includes this, after the amalgamation.
 *
 * SQLCipher's own function leaves the new key set for writing when it fails: the next write then puts a page under the new key
 * among those under the old one, and no key opens the file. Here the new key is set only between the start and the end of one
 * transaction; whatever ends that, setting the keys after it cannot fail.
 */
#include "../include/rekey.h"
#include "../include/wipe.h"

/* Reads a page and marks it for writing, which saves it in the journal. */
static int sqlcipherkit_journal_page(Pager *pager, Pgno number) {
    PgHdr *page;
    int rc = sqlite3PagerGet(pager, number, &page, 0);
    if (rc != SQLITE_OK) return rc;
    rc = sqlite3PagerWrite(page);
    sqlite3PagerUnrefNotNull(page);
    return rc;
}

/* Reads and marks every page for writing; the pager encrypts them with the write key as they leave its cache. */
static int sqlcipherkit_rewrite_pages(Pager *pager, int (*progress)(void *, unsigned int, unsigned int), void *argument) {
    int total = 0;
    sqlite3PagerPagecount(pager, &total);
    for (Pgno number = 1; number <= (Pgno)total; number++) {
        if (progress && number % 64 == 1 && progress(argument, number - 1, (unsigned int)total)) return SQLITE_INTERRUPT;
        if (sqlcipherkit_is_lock_page(number, ((codec_ctx *)pager->pCodec)->page_sz)) continue;
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
    unsigned char *bytes = sqlite3_malloc(codec->page_sz);
    if (bytes == NULL) return SQLITE_NOMEM;
    const int rc = pager->fd->pMethods->xRead(pager->fd, bytes, codec->page_sz, (i64)(number - 1) * codec->page_sz);
    const int is_damaged = rc == SQLITE_OK && sqlcipherkit_authenticate(codec, number, bytes) != SQLITE_OK;
    sqlite3_free(bytes);
    return is_damaged ? sqlcipherkit_journal_page(pager, number) : 0;
}

/* Makes damaged free pages whole. Later they could not be told from others, as the freelist may be in the file with the new key. */
static int sqlcipherkit_journal_damaged_pages(Pager *pager) {
    codec_ctx *codec = pager->pCodec;
    if (pager->pWal != NULL || (codec->flags & CIPHER_FLAG_HMAC) == 0) return SQLITE_OK;
    const int rc = sqlcipherkit_each_free_page(pager, codec, sqlcipherkit_journal_damaged_page, pager);
    return rc > 0 ? rc : SQLITE_OK;
}

static void sqlcipherkit_free_key(codec_ctx *codec, cipher_ctx *key) {
    if (key != NULL) sqlcipher_cipher_ctx_free(codec, &key);
}

/* Derives a key and makes two of it, as a codec has one for reading and one for writing. This may set another salt, which both
 * share. On an error the caller frees what there is of the two. */
static int sqlcipherkit_new_keys(codec_ctx *codec, const void *key, int count, cipher_ctx *both[2]) {
    int rc = sqlcipher_cipher_ctx_init(codec, &both[0]);
    if (rc == SQLITE_OK) rc = sqlcipher_cipher_ctx_init(codec, &both[1]);
    if (rc == SQLITE_OK) rc = sqlcipher_cipher_ctx_set_pass(both[0], key, count);
    if (rc == SQLITE_OK) both[0]->derive_key = 1;
    if (rc == SQLITE_OK) rc = sqlcipher_cipher_ctx_key_derive(codec, both[0]);
    if (rc == SQLITE_OK && !codec->store_pass) rc = sqlcipher_cipher_ctx_set_pass(both[0], NULL, 0);
    if (rc == SQLITE_OK) rc = sqlcipher_cipher_ctx_copy(codec, both[1], both[0]);
    return rc;
}

/* The transaction that changes the key. */
static int sqlcipherkit_rekey_codec(Btree *btree, codec_ctx *codec, const void *key, int count,
                                    int (*progress)(void *, unsigned int, unsigned int), void *argument) {
    Pager *pager = sqlite3BtreePager(btree);
    cipher_ctx *fresh[2] = {NULL, NULL}, *const old = codec->write_ctx;
    unsigned char salt[sqlcipherkit_salt_size];
    int rc = sqlite3BtreeBeginTrans(btree, 1, 0);
    if (rc != SQLITE_OK) return rc;
    /* A database in memory may not have used its key yet. */
    rc = sqlcipherkit_ensure_key(codec);
    memcpy(salt, codec->kdf_salt, sizeof salt);
    /* The first page goes to the journal before the new key is set. Otherwise the journal would have the old page under the new
     * salt, and after a rollback the passphrase could not open the database. */
    if (rc == SQLITE_OK) rc = sqlcipherkit_journal_page(pager, 1);
    if (rc == SQLITE_OK) rc = sqlcipherkit_journal_damaged_pages(pager);
    if (rc == SQLITE_OK) rc = sqlcipherkit_new_keys(codec, key, count, fresh);
    if (rc == SQLITE_OK) {
        codec->write_ctx = fresh[0];
        rc = sqlcipherkit_rewrite_pages(pager, progress, argument);
        if (rc == SQLITE_OK) rc = sqlite3BtreeCommit(btree);
    }
    if (rc == SQLITE_OK) {
        sqlcipherkit_free_key(codec, old);
        sqlcipherkit_free_key(codec, codec->read_ctx);
        codec->read_ctx = fresh[1];
        return SQLITE_OK;
    }
    codec->write_ctx = old;
    memcpy(codec->kdf_salt, salt, sizeof salt);
    sqlcipherkit_free_key(codec, fresh[0]);
    sqlcipherkit_free_key(codec, fresh[1]);
    sqlite3BtreeRollback(btree, SQLITE_ABORT_ROLLBACK, 0);
    return rc;
}

int sqlcipherkit_rekey(sqlite3 *db, const char *schema, const void *key, int count,
                       int (*progress)(void *, unsigned int, unsigned int), void *argument) {
    if (db == NULL || key == NULL || count <= 0) return SQLITE_MISUSE;
    sqlite3_mutex_enter(db->mutex);
    const int index = sqlcipherkit_place_of(db, schema);
    Btree *btree = index < 0 ? NULL : db->aDb[index].pBt;
    codec_ctx *codec = sqlcipherkit_codec_of(btree);
    int rc = SQLITE_MISUSE;
    Pager *pager = codec == NULL ? NULL : sqlite3BtreePager(btree);
    if (codec != NULL && !db->autoCommit && (db->pSavepoint != NULL || pager->eState >= PAGER_WRITER_CACHEMOD)) {
        /* A failure would take what the transaction has written before, and the transaction would go on without it. */
        sqlite3_set_errmsg(
            db, rc = SQLITE_ERROR, "the key cannot be changed in a savepoint, or within a transaction that has written");
    } else if (codec != NULL) {
        const int state = sqlite3_txn_state(db, schema);
        const int journal = sqlite3PagerGetJournalMode(pager);
        const int is_unsafe = journal == PAGER_JOURNALMODE_OFF || journal == PAGER_JOURNALMODE_MEMORY;
        /* Callers forget the old key when this returns, whatever a power failure does then, and must not lose the database if the
         * process ends before. */
        if (is_unsafe) sqlite3PagerSetJournalMode(pager, PAGER_JOURNALMODE_DELETE);
        sqlite3BtreeSetPagerFlags(btree, PAGER_SYNCHRONOUS_EXTRA | (db->flags & PAGER_FLAGS_MASK));
        rc = sqlcipherkit_rekey_codec(btree, codec, key, count, progress, argument);
        sqlite3BtreeSetPagerFlags(btree, db->aDb[index].safety_level | (db->flags & PAGER_FLAGS_MASK));
        /* A journal that a failure has left behind is still to be rolled back. */
        sqlite3_file *left = NULL;
        if (is_unsafe) sqlite3_file_control(db, schema, SQLITE_FCNTL_JOURNAL_POINTER, &left);
        if (is_unsafe && (left == NULL || left->pMethods == NULL)) sqlite3PagerSetJournalMode(pager, journal);
        /* The caller's transaction goes on with its lock. If another one has that now, the next write says so. */
        if (rc == SQLITE_OK && !db->autoCommit && state != SQLITE_TXN_NONE) {
            (void)sqlite3BtreeBeginTrans(btree, state == SQLITE_TXN_WRITE, NULL);
        }
    }
    sqlite3_mutex_leave(db->mutex);
    sqlcipherkit_wipe_traces();
    return rc;
}

SQLITE_API int sqlite3_rekey_v2(sqlite3 *db, const char *schema, const void *key, int count) {
    if (key != NULL && count < 0) count = (int)strlen(key);
    return sqlcipherkit_rekey(db, schema == NULL || *schema == 0 ? "main" : schema, key, count, NULL, NULL);
}
