/* Reads of pages, and their errors. Only engine.c includes this, after the amalgamation.
 *
 * SQLite's own function passes a page to SQLCipher's codec even if reading it failed, and in SQLCipher one page that cannot be
 * decrypted makes the whole database unusable. Here a failed read keeps its own error, a damaged page is an error of the statement
 * that reads it, and the next statement works. SQLite's and SQLCipher's functions are upstream_readDbPage and
 * upstream_sqlcipher_codec_ctx_init_kdf_salt here.
 *
 * After damage, SQLite commits nothing of an open transaction. codec.h has the other half: what an error of the codec does to what
 * is written.
 */

/* SQLite parses a node again as soon as its bytes are restored from a journal. SQLCipher decrypts them only after that, so the
 * parser gets ciphertext. Once in some hundred times, ciphertext passes for a node, which is then read and written by a header of
 * random bytes; it is usually the root of the schema. So the node is only marked here, and parsed when it is used. A page restored
 * from a write-ahead log is already decrypted. */
static void pageReinit(PgHdr *page) {
    MemPage *node = sqlite3PagerGetExtra(page);
    if (page->pPager->xCodec != NULL && page->pPager->pWal == NULL) {
        node->isInit = 0;
    } else {
        upstream_pageReinit(page);
    }
}

/* Reads the page's bytes as they are in the file or the log. */
static int sqlcipherkit_read_raw_page(PgHdr *page) {
    Pager *pager = page->pPager;
    void *(*const codec)(void *, void *, Pgno, int) = pager->xCodec;
    pager->xCodec = NULL;
    int rc = upstream_readDbPage(page);
    pager->xCodec = codec;
    return rc;
}

/* The salt takes the place of the text that a file of SQLite begins with. */
enum { sqlcipherkit_salt_size = 16 };

/* Reads the salt from the file, or from the log if that has the first page: a change of key may have set another salt, and the file
 * keeps the old one until a checkpoint. Only a file that is too short to have one gets a new salt. */
static int sqlcipher_codec_ctx_init_kdf_salt(codec_ctx *codec) {
    if ((codec->flags & CIPHER_FLAG_HAS_KDF_SALT) != 0) return SQLITE_OK;
    Pager *pager = sqlite3BtreePager(codec->pBt);
    sqlite3_file *file = pager->fd;
    if (file != NULL && file->pMethods != NULL) {
        unsigned char salt[sqlcipherkit_salt_size];
        u32 frame = 0;
        int rc = pager->pWal != NULL && pager->eState >= PAGER_READER ? sqlite3WalFindFrame(pager->pWal, 1, &frame) : SQLITE_OK;
        if (rc == SQLITE_OK) {
            rc = frame != 0 ? sqlite3WalReadFrame(pager->pWal, frame, codec->kdf_salt_sz, salt)
                            : file->pMethods->xRead(file, salt, codec->kdf_salt_sz, 0);
        }
        if (rc == SQLITE_OK) {
            memcpy(codec->kdf_salt, salt, codec->kdf_salt_sz);
            codec->flags |= CIPHER_FLAG_HAS_KDF_SALT;
        }
        if (rc != SQLITE_IOERR_SHORT_READ) return rc;
    }
    return upstream_sqlcipher_codec_ctx_init_kdf_salt(codec);
}

/* Derives the key, if that has not been done yet. SQLCipher's function returns one code for every failure. */
static int sqlcipherkit_ensure_key(codec_ctx *codec) {
    int rc = codec->read_ctx->derive_key ? sqlcipher_codec_ctx_init_kdf_salt(codec) : SQLITE_OK;
    return rc == SQLITE_OK && sqlcipher_codec_key_derive(codec) != SQLITE_OK ? SQLITE_NOMEM : rc;
}

/* Checks the page's authentication code. Returns SQLITE_OK if it matches, SQLITE_CORRUPT if not, or another error. */
static int sqlcipherkit_authenticate(codec_ctx *codec, Pgno number, unsigned char *bytes) {
    unsigned char mac[64];
    const int skipped = number > 1 ? 0 : codec->plaintext_header_sz ? codec->plaintext_header_sz : sqlcipherkit_salt_size;
    const int size = codec->page_sz - codec->reserve_sz + codec->iv_sz - skipped;
    if (codec->hmac_sz > (int)sizeof mac || size < codec->iv_sz || skipped < 0) return SQLITE_ERROR;
    bytes += skipped;
    if (sqlcipher_page_hmac(codec, codec->read_ctx, number, bytes, size, mac) != SQLITE_OK) return SQLITE_NOMEM;
    return sqlcipher_memcmp(bytes + size, mac, codec->hmac_sz) == 0 ? SQLITE_OK : SQLITE_CORRUPT;
}

/* Decrypts a page's bytes in place. An error leaves SQLCipher's state and the b-tree's unchanged. */
static int sqlcipherkit_decrypt_bytes(codec_ctx *codec, Pgno number, void *bytes) {
    BtShared *tree = codec->pBt->pBt;
    const u16 flags = tree->btsFlags;
    const int last = tree->db->errCode;
    void *out = sqlite3BtreePager(codec->pBt)->xCodec(codec, bytes, number, CODEC_READ_OP);
    if (codec->error == SQLITE_OK) return out == NULL ? SQLITE_NOMEM : SQLITE_OK;
    codec->error = SQLITE_OK;
    tree->btsFlags = flags;
    tree->db->errCode = last;
    return SQLITE_CORRUPT;
}

static int sqlcipherkit_decrypt_page(codec_ctx *codec, PgHdr *page) {
    return sqlcipherkit_decrypt_bytes(codec, page->pgno, page->pData);
}

/* Reads a page again that could not be decrypted. Returns the reason, or SQLITE_OK if it succeeds this time. */
static int sqlcipherkit_decrypt_again(codec_ctx *codec, PgHdr *page) {
    int rc = sqlcipherkit_read_raw_page(page);
    if (rc != SQLITE_OK) return rc;
    if ((codec->flags & CIPHER_FLAG_HMAC) == 0) return SQLITE_NOMEM;
    rc = sqlcipherkit_authenticate(codec, page->pgno, page->pData);
    if (rc == SQLITE_OK) return sqlcipherkit_decrypt_page(codec, page) == SQLITE_OK ? SQLITE_OK : SQLITE_NOMEM;
    if (rc != SQLITE_CORRUPT) return rc;
    sqlite3_log(SQLITE_CORRUPT, "page %u of %s does not match its authentication code", page->pgno, page->pPager->zFilename);
    /* The first page shows whether this is a database with this key at all. */
    return page->pgno == 1 ? SQLITE_NOTADB : SQLITE_CORRUPT;
}

/* Returns whether SQLCipher would accept the page although nothing authenticates it. With auto_vacuum it takes a page of zeros for
 * one beyond the end of the file, which SQLite fills with zeros. SQLCipher never writes such a page to the file or the log. */
static int sqlcipherkit_is_forged_zero(codec_ctx *codec, PgHdr *page) {
    static const unsigned char zeros[16];
    const unsigned char *bytes = page->pData;
    Pager *pager = page->pPager;
    if (memcmp(bytes, zeros, sizeof zeros) != 0 || memcmp(bytes, bytes + 1, (size_t)codec->page_sz - 1) != 0) return 0;
    u32 frame = 0;
    if (pager->pWal != NULL && sqlite3WalFindFrame(pager->pWal, page->pgno, &frame) == SQLITE_OK && frame != 0) return 1;
    i64 size = 0;
    const sqlite3_io_methods *methods = pager->fd->pMethods;
    return methods != NULL && methods->xFileSize(pager->fd, &size) == SQLITE_OK && size >= (i64)page->pgno * codec->page_sz;
}

static int sqlcipherkit_is_free_page(codec_ctx *codec, PgHdr *page);

/* Of our own, beside SQLCipher's: the first page was read last with a key that does not fit. */
#define SQLCIPHERKIT_FLAG_KEY_REFUSED (1u << 24)
_Static_assert((DEFAULT_CIPHER_FLAGS & SQLCIPHERKIT_FLAG_KEY_REFUSED) == 0, "a bit that SQLCipher does not use");

static int sqlcipherkit_note_first_page(codec_ctx *codec, Pager *pager, int rc) {
    if (rc == SQLITE_NOTADB) codec->flags |= SQLCIPHERKIT_FLAG_KEY_REFUSED;
    if (rc == SQLITE_OK) codec->flags &= ~(unsigned int)SQLCIPHERKIT_FLAG_KEY_REFUSED;
    /* The cache is not used after a failure. */
    if (rc != SQLITE_OK) memset(pager->dbFileVers, 0xff, sizeof pager->dbFileVers);
    return rc;
}

/* The pager calls this to read a page. */
static int readDbPage(PgHdr *page) {
    Pager *pager = page->pPager;
    codec_ctx *codec = pager->xCodec ? pager->pCodec : NULL;
    if (codec == NULL) return upstream_readDbPage(page);
    /* As SQLCipher reports a setting that it did not accept. */
    int rc = codec->error == SQLITE_ERROR ? SQLITE_NOTADB : codec->error;
    if (rc == SQLITE_OK) rc = sqlcipherkit_ensure_key(codec);
    if (rc == SQLITE_OK) rc = sqlcipherkit_read_raw_page(page);
    if (rc != SQLITE_OK) return rc;
    rc = (codec->flags & CIPHER_FLAG_HMAC) != 0 && sqlcipherkit_is_forged_zero(codec, page)
             ? SQLITE_CORRUPT
             : sqlcipherkit_decrypt_page(codec, page);
    if (rc != SQLITE_OK) rc = sqlcipherkit_decrypt_again(codec, page);
    if (rc == SQLITE_CORRUPT && sqlcipherkit_is_free_page(codec, page)) {
        memset(page->pData, 0, (size_t)codec->page_sz);
        rc = SQLITE_OK;
    }
    return page->pgno == 1 ? sqlcipherkit_note_first_page(codec, pager, rc) : rc;
}
