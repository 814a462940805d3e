/* access.h, made of the amalgamation's own functions. Included by engine.c behind it, and nowhere else. */

/* columnMem without the connection's mutex, which whoever steps the statement has no need of, and without an error left on the
 * connection. NULL outside the row. */
static inline Mem *sqlcipherkit_column(sqlite3_stmt *statement, int index) {
    Vdbe *vm = (Vdbe *)statement;
    if (vm->pResultRow == NULL || index < 0 || index >= vm->nResColumn) return NULL;
    return &vm->pResultRow[index];
}

int sqlcipherkit_column_int64(sqlite3_stmt *statement, int index, sqlite3_int64 *value) {
    Mem *column = sqlcipherkit_column(statement, index);
    if (column == NULL) return SQLITE_NULL;
    int type = sqlite3_value_type((sqlite3_value *)column);
    /* The storage class says that the integer is there: nothing is converted, so nothing can fail. */
    if (type == SQLITE_INTEGER) *value = column->u.i;
    return type;
}

int sqlcipherkit_column_double(sqlite3_stmt *statement, int index, double *value) {
    Mem *column = sqlcipherkit_column(statement, index);
    if (column == NULL) return SQLITE_NULL;
    int type = sqlite3_value_type((sqlite3_value *)column);
    if (type == SQLITE_FLOAT) *value = sqlite3VdbeRealValue(column);
    return type;
}

int sqlcipherkit_column_bytes(sqlite3_stmt *statement, int index, const void **bytes, int *count) {
    Mem *column = sqlcipherkit_column(statement, index);
    if (column == NULL) return SQLITE_NULL;
    int type = sqlite3_value_type((sqlite3_value *)column);
    /* What lies there as it is wanted is taken as it lies; sqlite3_value_text and _blob would look at the same conditions. */
    if ((type == SQLITE_TEXT && (column->flags & (MEM_Str | MEM_Term)) == (MEM_Str | MEM_Term) && column->enc == SQLITE_UTF8) ||
        (type == SQLITE_BLOB && (column->flags & (MEM_Blob | MEM_Zero)) == MEM_Blob && column->n > 0)) {
        *bytes = column->z;
        *count = column->n;
        return type;
    }
    /* Converting may take memory: this is SQLite's own way, with its mutex and its account of a failure. */
    column = columnMem(statement, index);
    if (type == SQLITE_TEXT || type == SQLITE_BLOB) {
        *bytes = type == SQLITE_TEXT ? (const void *)sqlite3_value_text((sqlite3_value *)column)
                                     : sqlite3_value_blob((sqlite3_value *)column);
        *count = sqlite3_value_bytes((sqlite3_value *)column);
        /* Text is never a NULL pointer unless its conversion to UTF-8, or the expansion of a zero-blob, had no memory. */
        if (*bytes == NULL && (*count > 0 || type == SQLITE_TEXT)) *count = -1;
    }
    columnMallocFailure(statement);
    return type;
}

/* The provider with a context of its own: there may be no open connection yet. */
static int sqlcipherkit_with_provider(sqlcipher_provider **provider, void **context) {
    int rc = sqlite3_initialize();
    if (rc != SQLITE_OK) return rc;
    *provider = sqlcipher_get_provider();
    if (*provider == NULL) return SQLITE_ERROR;
    *context = NULL;
    return (*provider)->ctx_init(context);
}

int sqlcipherkit_derive_key(int algorithm, const void *passphrase, int passphrase_count, const void *salt, int salt_count,
                            int iterations, void *key, int key_count) {
    sqlcipher_provider *provider;
    void *context;
    int rc = sqlcipherkit_with_provider(&provider, &context);
    if (rc != SQLITE_OK) return rc;
    rc = provider->kdf(context, algorithm, passphrase, passphrase_count, salt, salt_count, iterations, key_count, key);
    provider->ctx_free(&context);
    return rc;
}

int sqlcipherkit_copy_key(sqlite3 *db, const char *schema, unsigned char *key) {
    int index = sqlcipher_find_db_index(db, schema);
    if (index < 0 || db->aDb[index].pBt == NULL) return SQLITE_MISUSE;
    sqlite3_mutex_enter(db->mutex);
    int rc = SQLITE_NOTFOUND;
    codec_ctx *codec = (codec_ctx *)sqlcipherPagerGetCodec(sqlite3BtreePager(db->aDb[index].pBt));
    if (codec != NULL && codec->key_sz == 32 && codec->kdf_salt_sz == 16) {
        /* A database in memory may have had no use for its key yet. */
        rc = sqlcipher_codec_key_derive(codec);
        if (rc == SQLITE_OK) {
            /* The key lies masked in memory. */
            sqlcipher_shield(codec->read_ctx->key, codec->key_sz);
            memcpy(key, codec->read_ctx->key, 32);
            sqlcipher_shield(codec->read_ctx->key, codec->key_sz);
            memcpy(key + 32, codec->kdf_salt, 16);
        }
    }
    sqlite3_mutex_leave(db->mutex);
    return rc;
}

int sqlcipherkit_random(void *bytes, int count) {
    sqlcipher_provider *provider;
    void *context;
    int rc = sqlcipherkit_with_provider(&provider, &context);
    if (rc != SQLITE_OK) return rc;
    rc = provider->random(context, bytes, count);
    provider->ctx_free(&context);
    return rc;
}

int sqlcipherkit_page_counts(sqlite3 *db, const char *schema, unsigned int *declared, unsigned int *present) {
    int index = sqlcipher_find_db_index(db, schema);
    if (index < 0 || db->aDb[index].pBt == NULL) return SQLITE_MISUSE;
    sqlite3_mutex_enter(db->mutex);
    Pager *pager = sqlite3BtreePager(db->aDb[index].pBt);
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

int sqlcipherkit_derived_key(sqlite3 *db, const char *schema, void *text, int capacity, int *count) {
    int index = sqlcipher_find_db_index(db, schema);
    if (index < 0 || db->aDb[index].pBt == NULL) return SQLITE_NOTFOUND;
    codec_ctx *codec = (codec_ctx *)sqlcipherPagerGetCodec(sqlite3BtreePager(db->aDb[index].pBt));
    if (codec == NULL || codec->read_ctx->derive_key) return SQLITE_NOTFOUND;
    char *copy = NULL;
    int size = 0;
    int rc = sqlcipher_cipher_ctx_get_keyspec(codec, codec->read_ctx, &copy, &size);
    if (rc != SQLITE_OK) return rc;
    if (size > capacity) rc = SQLITE_TOOBIG;
    else memcpy(text, copy, *count = size);
    /* Wipes it. */
    sqlcipher_free(copy, size);
    return rc;
}

void sqlcipherkit_set_query_only(sqlite3 *db, int on) {
    /* Looked at when a statement begins to write, not when it is compiled. */
    if (on) db->flags |= SQLITE_QueryOnly;
    else db->flags &= ~(u64)SQLITE_QueryOnly;
}

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
        /* The page with the byte that locks are taken on is never used. */
        if (sqlite3pager_is_sj_pgno(pager, number)) continue;
        int rc = sqlcipherkit_journal_page(pager, number);
        if (rc != SQLITE_OK) return rc;
    }
    return progress && progress(argument, (unsigned int)total, (unsigned int)total) ? SQLITE_INTERRUPT : SQLITE_OK;
}

int sqlcipherkit_rekey(sqlite3 *db, const char *schema, const void *key, int count,
                       int (*progress)(void *, unsigned int, unsigned int), void *argument) {
    int index = sqlcipher_find_db_index(db, schema);
    if (index < 0 || key == NULL || count <= 0) return SQLITE_MISUSE;
    sqlite3_mutex_enter(db->mutex);
    int rc = SQLITE_MISUSE;
    Btree *btree = db->aDb[index].pBt;
    codec_ctx *codec = btree ? (codec_ctx *)sqlcipherPagerGetCodec(sqlite3BtreePager(btree)) : NULL;
    if (codec != NULL) {
        /* Deriving the new key may bring a new salt, which both keys share. */
        unsigned char salt[FILE_HEADER_SZ];
        memcpy(salt, codec->kdf_salt, sizeof salt);
        rc = sqlite3BtreeBeginTrans(btree, 1, 0);
        /* The first page goes to the journal before the new key is set. Behind it, the journal would have the old page under
         * the new salt, and a passphrase could not open what a rollback restores. */
        if (rc == SQLITE_OK) rc = sqlcipherkit_journal_page(sqlite3BtreePager(btree), 1);
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
    return rc;
}

/* --- fork --- */

unsigned sqlcipherkit_fork_count;

#if SQLITE_OS_UNIX
/* The lock that guards inodeList; NULL before the engine was started. */
static sqlite3_mutex *sqlcipherkit_held_at_fork;

static void sqlcipherkit_before_fork(void) {
    sqlcipherkit_held_at_fork = unixBigLock;
    sqlite3_mutex_enter(sqlcipherkit_held_at_fork);
}

static void sqlcipherkit_after_fork(void) { sqlite3_mutex_leave(sqlcipherkit_held_at_fork); }

static void sqlcipherkit_in_child(void) {
    sqlcipherkit_fork_count++;
    /* What the engine knows of the locks that this process holds is true of the parent: POSIX gives a child none of them. A file
     * that the child opens itself begins without. */
    inodeList = NULL;
    sqlite3_mutex_leave(sqlcipherkit_held_at_fork);
}

__attribute__((constructor)) static void sqlcipherkit_watch_forks(void) {
    pthread_atfork(sqlcipherkit_before_fork, sqlcipherkit_after_fork, sqlcipherkit_in_child);
}
#endif
