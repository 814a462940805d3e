/* The shared cache is an error. Only engine.c includes this, after the amalgamation.
 *
 * A build without the shared cache accepts a request for it, in a URI or a flag, and gives each connection its own database: two
 * connections that mean to share a database in memory get two, and the second finds no tables in its own.
 */

/* Replaces sqlite3ParseUri, which opening and ATTACH call for every name of a database. */
static int sqlcipherkit_parse_uri(
    const char *layer, const char *uri, unsigned int *flags, sqlite3_vfs **vfs, char **name, char **message) {
    int rc = sqlcipherkit_sqlite_parse_uri(layer, uri, flags, vfs, name, message);
    if (rc != SQLITE_OK || (*flags & SQLITE_OPEN_SHAREDCACHE) == 0) return rc;
    sqlite3_free_filename(*name);
    *name = NULL;
    *message = sqlite3_mprintf(
        "the shared cache is not part of this engine; to share a database in memory, open file:/NAME?vfs=memdb in each connection");
    return SQLITE_ERROR;
}
