/* Wraps SQLCipher's codec, the function that the pager calls for each page. Only engine.c includes this, after the amalgamation;
 * SQLCipher's own functions are upstream_sqlite3Codec and upstream_sqlcipher_codec_pragma there.
 *
 * In SQLCipher each error of the codec makes the database unusable until it is closed. Here, for both engines:
 * - a page that cannot be encrypted is not written: the statement fails, SQLite rolls back what it must, and the next one works;
 * - a page that cannot be decrypted is an error of the statement that reads it (reads.h);
 * - a page from a journal that cannot be decrypted would be in the cache as zeros: that error stays, and nothing is written;
 * - so does a setting that was not accepted;
 * - the keys for reading and for writing differ within a change of key alone (rekey.h).
 *
 * The wrapper also tells the provider which page is about to be written and which pages will follow, so that several can be
 * encrypted at once (Provider/Pages/PAGES.md).
 */
#ifdef SQLCIPHERKIT_OWN_PROVIDER
#include "../Provider/Plug/state.h"

/* Offers the pages that the pager will write next, as far as they are known. The page being written is one of the cache's dirty
 * pages: the pager calls the codec's WRITE_OP for such pages. */
static void sqlcipherkit_offer_changed(struct sqlcipherkit_write_batch *batch, Pager *pager, const void *data, Pgno number) {
    sqlite3_pcache_page *cached = sqlite3PcacheFetch(pager->pPCache, number, 0);
    PgHdr *page = cached ? (PgHdr *)cached->pExtra : NULL;
    if (page == NULL || page->pPage != cached || page->pData != data || (page->flags & PGHDR_DIRTY) == 0) return;
    if (page->pDirty) {
        /* A commit: all pages of this list, which is sorted by number, will be written now. */
        for (PgHdr *next = page->pDirty; next; next = next->pDirty) {
            if (next->flags & PGHDR_DONT_WRITE) continue;
            if (!sqlcipherkit_write_batch_offer(batch, next->pgno, next->pData)) return;
        }
    } else if (pager->aStat[PAGER_STAT_SPILL] != batch->spills) {
        /* The cache is full and writes only its oldest page. The next oldest will follow; if one changes first, it is encrypted
         * again. The list ends at the first page for which the journal must be synchronized, as that page may be written much
         * later. */
        batch->spills = pager->aStat[PAGER_STAT_SPILL];
        for (PgHdr *next = page->pDirtyPrev; next && (next->flags & PGHDR_NEED_SYNC) == 0; next = next->pDirtyPrev) {
            if (next->nRef > 0 || next->pgno == 1) continue;
            if (!sqlcipherkit_write_batch_offer(batch, next->pgno, next->pData)) return;
        }
    }
}

/* Offers the pages after one whose original goes to the journal, as long as they are in the cache and unchanged: a statement that
 * changes pages in order will change those next. */
static void sqlcipherkit_offer_originals(struct sqlcipherkit_write_batch *batch, Pager *pager, Pgno number) {
    enum { least_run = 3 };
    for (int more = batch->run >= least_run; more;) {
        PgHdr *next = sqlite3PagerLookup(pager, ++number);
        if (next == NULL) return;
        more = (next->flags & PGHDR_DIRTY) == 0 && sqlcipherkit_write_batch_offer(batch, number, next->pData);
        /* The page's bytes have been copied: from here on, a full cache may reuse its memory. */
        sqlite3PagerUnrefNotNull(next);
    }
}

/* The first page, whose first bytes are not encrypted, and pages with another HMAC or without one, go straight to SQLCipher. */
static void *sqlcipherkit_run_codec(codec_ctx *codec, void *data, Pgno number, int mode) {
    if (mode == CODEC_READ_OP || number == 1 || codec->provider->cipher != provider_cipher ||
        (codec->flags & CIPHER_FLAG_HMAC) == 0 || codec->hmac_algorithm != SQLCIPHER_HMAC_SHA512 ||
        codec->reserve_sz != aes_block_size + sha512_digest_size) {
        void *page = upstream_sqlite3Codec(codec, data, number, mode);
        /* SQLCipher has masked the key again, which leaves parts of it in registers. */
        sqlcipherkit_wipe_registers();
        return page;
    }
    struct sqlcipherkit_pipeline *pipeline = sqlcipherkit_state_pipeline(codec->provider_ctx);
    const enum sqlcipherkit_destination destination = mode == CODEC_JOURNAL_OP ? to_journal : to_database;
    struct sqlcipherkit_write_batch *batch = sqlcipherkit_pipeline_begin(
        pipeline, destination, sqlcipherkit_kernels(), number, data, (size_t)(codec->page_sz - codec->reserve_sz));
    if (batch != NULL && destination == to_database) {
        sqlcipherkit_offer_changed(batch, sqlite3BtreePager(codec->pBt), data, number);
    } else if (batch != NULL) {
        sqlcipherkit_offer_originals(batch, sqlite3BtreePager(codec->pBt), number);
    }
    void *out = upstream_sqlite3Codec(codec, data, number, mode);
    sqlcipherkit_pipeline_end(pipeline);
    sqlcipherkit_wipe_registers();
    return out;
}
#else
#define sqlcipherkit_run_codec upstream_sqlite3Codec
#endif

/* Replaces SQLCipher's sqlite3Codec. */
static void *sqlite3Codec(void *argument, void *data, Pgno number, int mode) {
    codec_ctx *codec = argument;
    if (codec->error != SQLITE_OK) return upstream_sqlite3Codec(codec, data, number, mode);
    BtShared *tree = codec->pBt->pBt;
    const u16 flags = tree->btsFlags;
    const int last = tree->db->errCode;
    void *out = sqlcipherkit_run_codec(codec, data, number, mode);
    if (codec->error == SQLITE_OK) return out;
    tree->btsFlags = flags;
    tree->db->errCode = last;
    /* The one caller that reads from a file takes the error away again. */
    codec->error = mode == CODEC_READ_OP ? SQLITE_CORRUPT : SQLITE_OK;
    return mode == CODEC_READ_OP ? out : NULL;
}

/* Replaces sqlcipher_codec_pragma. Programs ask PRAGMA cipher_status whether the key fits, which SQLCipher knows from its lasting
 * error. After a failed PRAGMA cipher_migrate, whose result is that error, the database is as it was, and can be read with what was
 * set. PRAGMA page_size is left to SQLite, as SQLCipher answers with a text, in a column of another name. */
int sqlcipher_codec_pragma(sqlite3 *db, int index, Parse *parse, const char *name, const char *value) {
    if (value == NULL && sqlite3_stricmp(name, "page_size") == 0) return 0;
    codec_ctx *codec = sqlcipherkit_codec_of(db->aDb[index].pBt);
    const int is_status = sqlite3_stricmp(name, "cipher_status") == 0, is_migration = sqlite3_stricmp(name, "cipher_migrate") == 0;
    if (codec == NULL || (!is_status && !is_migration)) {
        return upstream_sqlcipher_codec_pragma(db, index, parse, name, value);
    }
    const int error = codec->error;
    if (is_status && (codec->flags & SQLCIPHERKIT_FLAG_KEY_REFUSED) != 0) codec->error = SQLITE_NOTADB;
    const int is_known = upstream_sqlcipher_codec_pragma(db, index, parse, name, value);
    /* A migration replaces the codec. */
    codec = sqlcipherkit_codec_of(db->aDb[index].pBt);
    if (codec != NULL) codec->error = error;
    return is_known;
}
