/* The integrity check of a full-text index. Only engine.c includes this, after the amalgamation.
 *
 * FTS5 caches what it has read of an index. When a query begins, it checks whether other connections have written since, but not
 * when integrity_check begins: a connection that had read the index before would report damage where there is none.
 */

static int fts5IntegrityMethod(sqlite3_vtab *table, const char *schema, const char *name, int quick, char **message) {
    int rc = fts5NewTransaction((Fts5FullTable *)table);
    return rc != SQLITE_OK ? rc : sqlcipherkit_sqlite_fts5_integrity(table, schema, name, quick, message);
}
