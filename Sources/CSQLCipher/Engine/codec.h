/* Wraps SQLCipher's codec, the function that the pager calls for each page. The wrapper tells the provider which page is about to
 * be written and which pages will follow, so that several can be encrypted at once (Provider/Pages/PAGES.md). Only engine.c
 * includes this, after the amalgamation; SQLCipher's own function is sqlcipherkit_sqlcipher_codec there.
 */
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
         * again. The list ends at the first page for which the journal must be synchronised, as that page may be written much
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

/* Replaces SQLCipher's sqlite3Codec. The first page, whose first bytes are not encrypted, and pages with another HMAC or without
 * one, go straight to SQLCipher. */
static void *sqlite3Codec(void *argument, void *data, Pgno number, int mode) {
    codec_ctx *codec = argument;
    if (mode == CODEC_READ_OP || number == 1 || codec->provider->cipher != provider_cipher ||
        !SQLCIPHER_FLAG_GET(codec->flags, CIPHER_FLAG_HMAC) || codec->hmac_algorithm != SQLCIPHER_HMAC_SHA512 ||
        codec->reserve_sz != aes_block_size + sha512_digest_size) {
        void *page = sqlcipherkit_sqlcipher_codec(argument, data, number, mode);
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
    void *out = sqlcipherkit_sqlcipher_codec(argument, data, number, mode);
    sqlcipherkit_pipeline_end(pipeline);
    sqlcipherkit_wipe_registers();
    return out;
}
