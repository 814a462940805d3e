/* The shared cache, which opening refuses, and functions of features that this engine leaves out. Only engine.c includes this,
 * after the amalgamation.
 *
 * A build without the shared cache accepts a request for it, in a URI or a flag, and gives each connection its own database: two
 * connections that mean to share a database in memory get two, and the second finds no tables in its own.
 */

/* Replaces sqlite3ParseUri, which opening and ATTACH call for every name of a database. */
SQLITE_PRIVATE int sqlite3ParseUri(
    const char *layer, const char *uri, unsigned int *flags, sqlite3_vfs **vfs, char **name, char **message) {
    int rc = sqlcipherkit_start();
    if (rc != SQLITE_OK) {
        *message = sqlite3_mprintf("SQLCipher cannot start: %s", sqlite3_errstr(rc));
        return rc;
    }
    rc = upstream_sqlite3ParseUri(layer, uri, flags, vfs, name, message);
    if (rc != SQLITE_OK || (*flags & SQLITE_OPEN_SHAREDCACHE) == 0) return rc;
    sqlite3_free_filename(*name);
    *name = NULL;
    *message = sqlite3_mprintf(
        "the shared cache is not part of this engine; to share a database in memory, open file:/NAME?vfs=memdb in each connection");
    return SQLITE_ERROR;
}

#ifdef SQLCIPHERKIT_PLAIN_SYMBOLS
/* Programs that name these are linked all the same. */
SQLITE_API int sqlite3_enable_load_extension(sqlite3 *db, int on) {
    if (!on) return SQLITE_OK;
    sqlite3_set_errmsg(db, SQLITE_ERROR, "loading extensions is not part of this engine");
    return SQLITE_ERROR;
}

SQLITE_API int sqlite3_load_extension(sqlite3 *db, const char *file, const char *entry, char **message) {
    (void)file;
    (void)entry;
    const int rc = sqlite3_enable_load_extension(db, 1);
    if (message != NULL) *message = sqlite3_mprintf("%s", sqlite3_errmsg(db));
    return rc;
}

SQLITE_API int sqlite3_enable_shared_cache(int on) { return on ? SQLITE_ERROR : SQLITE_OK; }
#endif
