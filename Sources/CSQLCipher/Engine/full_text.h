/* Whether a full-text index is whole. engine.c includes this after the amalgamation; nothing else does.
 *
 * FTS5 keeps what it has read of an index, and looks whether others have written since when a query begins, but not when
 * integrity_check does: a connection that had read the index before reported damage that was none.
 */

static int fts5IntegrityMethod(sqlite3_vtab *table, const char *schema, const char *name, int quick, char **message) {
    int rc = fts5NewTransaction((Fts5FullTable *)table);
    return rc != SQLITE_OK ? rc : sqlcipherkit_sqlite_fts5_integrity(table, schema, name, quick, message);
}
