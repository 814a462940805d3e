/* The integrity check of a full-text index, and dropping one. Only engine.c includes this, after the amalgamation.
 *
 * FTS5 caches what it has read of an index. When a query begins, it checks whether other connections have written since, but not
 * when integrity_check begins: a connection that had read the index before would report damage where there is none.
 */

static int fts5IntegrityMethod(sqlite3_vtab *table, const char *schema, const char *name, int quick, char **message) {
    int rc = fts5NewTransaction((Fts5FullTable *)table);
    return rc != SQLITE_OK ? rc : upstream_fts5IntegrityMethod(table, schema, name, quick, message);
}

/* Triggers, tables and a view keep an index in step with its content (ContentSync.swift). Without the index, the triggers would
 * make each write to the content fail, so they are dropped with it, whatever statement drops it. */
static int fts5DestroyMethod(sqlite3_vtab *table) {
    static const char *const companions[] = {
        "TRIGGER", "before_insert", "TRIGGER", "after_insert", "TRIGGER", "before_update", "TRIGGER", "after_update",
        "TRIGGER", "before_delete", "TRIGGER", "after_delete", "VIEW", "source", "TABLE", "keys", "TABLE", "replaced",
    };
    const Fts5Config *config = ((Fts5Table *)table)->pConfig;
    char *replaced = sqlite3_mprintf("%s_replaced", config->zName);
    if (replaced == NULL) return SQLITE_NOMEM;
    const int is_synchronized = sqlite3_table_column_metadata(config->db, config->zDb, replaced, "seq", 0, 0, 0, 0, 0) == SQLITE_OK;
    sqlite3_free(replaced);
    int rc = SQLITE_OK;
    for (size_t i = 0; is_synchronized && rc == SQLITE_OK && i < sizeof companions / sizeof *companions; i += 2) {
        rc = fts5ExecPrintf(config->db, NULL, "DROP %s IF EXISTS \"%w\".\"%w_%s\"", companions[i], config->zDb, config->zName,
                            companions[i + 1]);
    }
    return rc != SQLITE_OK ? rc : upstream_fts5DestroyMethod(table);
}
