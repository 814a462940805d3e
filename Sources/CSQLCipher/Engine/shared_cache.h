/* The shared cache is an error. engine.c includes this after the amalgamation; nothing else does.
 *
 * Left out of a build, SQLite takes the wish for it, in a URI or a flag, and gives each connection a database of its own: one in
 * memory that two connections mean to share is then two, and the second finds no table in it.
 */

/* In place of sqlite3ParseUri, which opening and ATTACH call for every name of a database. */
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
