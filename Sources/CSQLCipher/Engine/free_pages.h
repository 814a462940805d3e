/* Pages without content that are damaged. Only engine.c includes this, after the amalgamation.
 *
 * SQLite writes no free page to the rollback journal, as nothing needs its bytes. So if a write to one is torn by a power failure,
 * its authentication code stays wrong after the rollback. Statements never read it, but VACUUM, a backup and a change of key do,
 * and each would fail from then on. A free page that is damaged is therefore read as zeros: it is the freelist, which is
 * authenticated, that says that it has no content (https://sqlite.org/fileformat2.html#the_freelist).
 */

/* Reads and decrypts a page into `bytes` as it was last committed, from the log or the file; nothing of the cache is used. */
static int sqlcipherkit_read_committed(Pager *pager, codec_ctx *codec, Pgno number, unsigned char *bytes) {
    u32 frame = 0;
    /* A database in memory, or a temporary one that is still small, has no file. */
    if (pager->fd->pMethods == NULL) return SQLITE_NOTFOUND;
    int rc = pager->pWal != NULL ? sqlite3WalFindFrame(pager->pWal, number, &frame) : SQLITE_OK;
    if (rc == SQLITE_OK) {
        rc = frame != 0 ? sqlite3WalReadFrame(pager->pWal, frame, codec->page_sz, bytes)
                        : pager->fd->pMethods->xRead(pager->fd, bytes, codec->page_sz, (i64)(number - 1) * codec->page_sz);
    }
    if (rc == SQLITE_OK) rc = sqlcipherkit_authenticate(codec, number, bytes);
    if (rc == SQLITE_OK) rc = sqlcipherkit_decrypt_bytes(codec, number, bytes);
    return rc;
}

/* Calls `body` for each page of the freelist that is no trunk, until it returns another value than 0, which is returned. Returns -1
 * if the freelist cannot be read. */
static int sqlcipherkit_each_free_page(Pager *pager, codec_ctx *codec, int (*body)(void *, Pgno), void *argument) {
    unsigned char *bytes = sqlite3_malloc(codec->page_sz);
    int result = bytes != NULL && sqlcipherkit_read_committed(pager, codec, 1, bytes) == SQLITE_OK ? 0 : -1;
    sqlcipherkit_reader header = {bytes, 32, codec->page_sz};
    Pgno trunk = result == 0 ? sqlcipherkit_read_word(&header) : 0;
    /* Damage must not make it a circle. */
    for (u32 left = result == 0 ? sqlcipherkit_read_word(&header) : 0; trunk != 0 && left > 0 && result == 0; left--) {
        if (sqlcipherkit_read_committed(pager, codec, trunk, bytes) != SQLITE_OK) {
            result = -1;
            break;
        }
        sqlcipherkit_reader list = {bytes, 0, codec->page_sz - codec->reserve_sz};
        trunk = sqlcipherkit_read_word(&list);
        for (u32 rest = sqlcipherkit_read_word(&list); rest > 0 && result == 0; rest--) {
            const Pgno number = sqlcipherkit_read_word(&list);
            if (sqlcipherkit_is_damaged(&list)) break;
            result = body(argument, number);
        }
    }
    sqlite3_free(bytes);
    return result;
}

static int sqlcipherkit_is_that_page(void *argument, Pgno number) { return *(const Pgno *)argument == number; }

/* Returns whether a page that could not be authenticated has no content, and this transaction has not written to it. */
static int sqlcipherkit_is_free_page(codec_ctx *codec, PgHdr *page) {
    Pager *pager = page->pPager;
    Pgno number = page->pgno;
    u32 frame = 0;
    if (pager->pWal != NULL && (sqlite3WalFindFrame(pager->pWal, number, &frame) != SQLITE_OK || frame != 0)) return 0;
    if (pager->pInJournal != NULL && sqlite3BitvecTest(pager->pInJournal, number)) return 0;
    return sqlcipherkit_each_free_page(pager, codec, sqlcipherkit_is_that_page, &number) == 1;
}
