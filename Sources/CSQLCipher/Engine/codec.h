/* SQLCipher's codec, the function that the pager calls for each page, with ours around it. It tells the provider which page
 * is on its way out and which will follow, so that several can be encrypted at once (Provider/Pages/together.h). engine.c includes
 * it behind the amalgamation, and nothing else does; there SQLCipher's own function is named sqlcipherkit_sqlcipher_codec.
 */
#include "../Provider/Plug/state.h"

/* Offers the pages that the pager will write next, as far as it can be known. The page that is being written is one of the
 * cache's dirty pages: that is how the codec's WRITE_OP is called. */
static void sqlcipherkit_offer_changed(struct sqlcipherkit_together *together, Pager *pager, const void *data, Pgno number) {
    sqlite3_pcache_page *cached = sqlite3PcacheFetch(pager->pPCache, number, 0);
    PgHdr *page = cached ? (PgHdr *)cached->pExtra : NULL;
    if (page == NULL || page->pPage != cached || page->pData != data || (page->flags & PGHDR_DIRTY) == 0) return;
    if (page->pDirty) {
        /* A commit: a list, sorted by number, all of it to be written now. */
        for (PgHdr *next = page->pDirty; next; next = next->pDirty) {
            if (next->flags & PGHDR_DONT_WRITE) continue;
            if (!sqlcipherkit_together_offer(together, next->pgno, next->pData)) return;
        }
    } else if (pager->aStat[PAGER_STAT_SPILL] != together->spills) {
        /* The cache is full and gives up its oldest page alone. The next older ones will follow, unless somebody changes them
         * first, and then they are encrypted again. The list ends where the journal must be synchronised first: behind that
         * it may be long. */
        together->spills = pager->aStat[PAGER_STAT_SPILL];
        for (PgHdr *next = page->pDirtyPrev; next && (next->flags & PGHDR_NEED_SYNC) == 0; next = next->pDirtyPrev) {
            if (next->nRef > 0 || next->pgno == 1) continue;
            if (!sqlcipherkit_together_offer(together, next->pgno, next->pData)) return;
        }
    }
}

/* Offers the pages behind one whose original goes to the journal, as long as they are in the cache and unchanged: who
 * changes one page after the other will change those next. */
static void sqlcipherkit_offer_originals(struct sqlcipherkit_together *together, Pager *pager, Pgno number) {
    enum { least_run = 3 };
    for (int more = together->run >= least_run; more;) {
        PgHdr *next = sqlite3PagerLookup(pager, ++number);
        if (next == NULL) return;
        more = (next->flags & PGHDR_DIRTY) == 0 && sqlcipherkit_together_offer(together, number, next->pData);
        /* Its bytes have been copied: a full cache may give its place away now. */
        sqlite3PagerUnrefNotNull(next);
    }
}

/* What SQLCipher names sqlite3Codec. The first page begins with what is not encrypted and goes its own way, as do pages with
 * another HMAC, or without. */
static void *sqlite3Codec(void *argument, void *data, Pgno number, int mode) {
    codec_ctx *codec = argument;
    if (mode == CODEC_READ_OP || number == 1 || codec->provider->cipher != provider_cipher ||
        !SQLCIPHER_FLAG_GET(codec->flags, CIPHER_FLAG_HMAC) || codec->hmac_algorithm != SQLCIPHER_HMAC_SHA512 ||
        codec->reserve_sz != aes_block_size + sha512_digest_size) {
        return sqlcipherkit_sqlcipher_codec(argument, data, number, mode);
    }
    const int is_original = mode == CODEC_JOURNAL_OP;
    struct sqlcipherkit_together *together =
        sqlcipherkit_state_together(codec->provider_ctx, is_original ? way_to_journal : way_to_database);
    if (sqlcipherkit_together_begin(together, sqlcipherkit_kernels(), number, data,
                                    (size_t)(codec->page_sz - codec->reserve_sz))) {
        Pager *pager = sqlite3BtreePager(codec->pBt);
        if (is_original) sqlcipherkit_offer_originals(together, pager, number);
        else sqlcipherkit_offer_changed(together, pager, data, number);
    }
    void *out = sqlcipherkit_sqlcipher_codec(argument, data, number, mode);
    sqlcipherkit_together_end(together);
    return out;
}
