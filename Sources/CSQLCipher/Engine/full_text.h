/* The integrity check of a full-text index, dropping one, and merging its segments. Only engine.c includes this, after the
 * amalgamation.
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

/* --- Merging ------------------------------------------------------------------------------------------------------------
 *
 * Each write adds a segment to an index, and segments are merged into larger ones. FTS5 does nothing for 64 pages, then all the
 * work for these; and once a level has as many segments as `crisismerge` says, it merges all of them, of whatever size. In an index
 * of a million rows such a write takes a quarter of a second. Here each write does its share. */

enum { sqlcipherkit_merge_unit = 8, sqlcipherkit_merged_pages = 256 };

static void fts5IndexAutomerge(Fts5Index *index, Fts5Structure **structure, int pages) {
    index->nWorkUnit = sqlcipherkit_merge_unit;
    upstream_fts5IndexAutomerge(index, structure, pages);
}

/* Merges the small segments of levels that have too many, and a part of large ones. */
static void fts5IndexCrisismerge(Fts5Index *index, Fts5Structure **structure) {
    int left = sqlcipherkit_merged_pages;
    for (int level = 0; index->rc == SQLITE_OK && *structure != NULL && level < (*structure)->nLevel && left > 0; level++) {
        const Fts5StructureLevel *full = &(*structure)->aLevel[level];
        if (full->nSeg < index->pConfig->nCrisisMerge) return;
        fts5IndexMergeLevel(index, structure, level, &left);
        if (index->rc != SQLITE_OK || (*structure)->aLevel[level].nMerge > 0) return;
        fts5StructurePromote(index, level + 1, *structure);
    }
}
