/* access.h, made of the amalgamation's own functions. Included by engine.c behind it, and nowhere else. */

int sqlcipherkit_column_int64(sqlite3_stmt *statement, int index, sqlite3_int64 *value) {
    Mem *column = columnMem(statement, index);
    int type = sqlite3_value_type((sqlite3_value *)column);
    if (type == SQLITE_INTEGER) *value = sqlite3VdbeIntValue(column);
    columnMallocFailure(statement);
    return type;
}

int sqlcipherkit_column_double(sqlite3_stmt *statement, int index, double *value) {
    Mem *column = columnMem(statement, index);
    int type = sqlite3_value_type((sqlite3_value *)column);
    if (type == SQLITE_FLOAT) *value = sqlite3VdbeRealValue(column);
    columnMallocFailure(statement);
    return type;
}

int sqlcipherkit_column_bytes(sqlite3_stmt *statement, int index, const void **bytes, int *count) {
    Mem *column = columnMem(statement, index);
    int type = sqlite3_value_type((sqlite3_value *)column);
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

int sqlcipherkit_random(void *bytes, int count) {
    sqlcipher_provider *provider;
    void *context;
    int rc = sqlcipherkit_with_provider(&provider, &context);
    if (rc != SQLITE_OK) return rc;
    rc = provider->random(context, bytes, count);
    provider->ctx_free(&context);
    return rc;
}
