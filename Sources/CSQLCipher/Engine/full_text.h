/* The integrity check of a full-text index, dropping one, and merging its segments. Only engine.c includes this, after the
 * amalgamation.
 *
 * FTS5 caches what it has read of an index. When a query begins, it checks whether other connections have written since, but not
 * when integrity_check begins: a connection that had read the index before would report damage where there is none.
 */

#ifndef SQLCIPHERKIT_PLAIN_SYMBOLS
static int sqlcipherkit_check_terms(Fts5FullTable *table);
#endif

static int fts5IntegrityMethod(sqlite3_vtab *table, const char *schema, const char *name, int quick, char **message) {
    int rc = fts5NewTransaction((Fts5FullTable *)table);
    if (rc == SQLITE_OK) rc = upstream_fts5IntegrityMethod(table, schema, name, quick, message);
#ifndef SQLCIPHERKIT_PLAIN_SYMBOLS
    if (rc != SQLITE_OK || *message != NULL) return rc;
    rc = sqlcipherkit_check_terms((Fts5FullTable *)table);
    if ((rc & 0xff) != SQLITE_CORRUPT) return rc;
    *message = sqlite3_mprintf("malformed inverted index for FTS5 table %s.%s", schema, name);
    rc = *message == NULL ? SQLITE_NOMEM : SQLITE_OK;
#endif
    return rc;
}

/* --- Triggers -----------------------------------------------------------------------------------------------------------
 *
 * Triggers, tables and a view keep an index in step with its content: ours (ContentSync.swift), or those that another library or a
 * program has made. Without the index, triggers that write to it would make each write to the content fail, so they are dropped
 * with it, whatever statement drops it. One that also does other work is not dropped: then the index is not either. */

static const char *const sqlcipherkit_companions[] = {
    "TRIGGER", "before_insert", "TRIGGER", "after_insert", "TRIGGER", "before_update", "TRIGGER", "after_update",
    "TRIGGER", "before_delete", "TRIGGER", "after_delete", "VIEW", "source", "TABLE", "keys", "TABLE", "replaced",
};

/* Returns whether a trigger is one of ours for a table. */
static int sqlcipherkit_is_companion(const char *trigger, const char *table) {
    const int length = (int)strlen(table);
    if (sqlite3_strnicmp(trigger, table, length) != 0 || trigger[length] != '_') return 0;
    for (size_t i = 0; i < sizeof sqlcipherkit_companions / sizeof *sqlcipherkit_companions; i += 2) {
        if (sqlite3_stricmp(&trigger[length + 1], sqlcipherkit_companions[i + 1]) == 0) return 1;
    }
    return 0;
}

/* Returns a trigger of a database that writes to a table and is not one of ours; NULL if there are no more than `number`. Sets
 * whether it does anything else. */
static const Trigger *sqlcipherkit_writing_trigger(sqlite3 *db, const char *schema, const char *table, int number, int *other) {
    const int place = sqlcipherkit_place_of(db, schema);
    if (place < 0 || db->aDb[place].pSchema == NULL) return NULL;
    for (HashElem *item = sqliteHashFirst(&db->aDb[place].pSchema->trigHash); item != NULL; item = sqliteHashNext(item)) {
        const Trigger *trigger = sqliteHashData(item);
        int writes = 0;
        *other = 0;
        for (const TriggerStep *step = trigger->step_list; step != NULL; step = step->pNext) {
            const char *target = step->pSrc != NULL ? step->pSrc->a[0].zName : NULL;
            if (target != NULL && sqlite3_stricmp(target, table) == 0) writes = 1;
            else *other = 1;
        }
        if (writes && !sqlcipherkit_is_companion(trigger->zName, table) && number-- == 0) return trigger;
    }
    return NULL;
}

/* Gives the statement that drops a table an error. FTS5 cannot. */
static int sqlcipherkit_refuse_drop(sqlite3 *db, const char *table, const char *trigger) {
    for (sqlite3_stmt *next = sqlite3_next_stmt(db, NULL); next != NULL; next = sqlite3_next_stmt(db, next)) {
        Vdbe *v = (Vdbe *)next;
        for (int i = 0; v->eVdbeState == VDBE_RUN_STATE && i < v->nOp; i++) {
            const VdbeOp *operation = &v->aOp[i];
            if (operation->opcode != OP_VDestroy || strcmp(operation->p4.z, table) != 0) continue;
            sqlite3VdbeError(v, "the trigger %s writes to %s and does other work too: drop it first", trigger, table);
        }
    }
    return SQLITE_ERROR;
}

static int sqlcipherkit_execute(sqlite3 *db, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *sql = sqlite3_vmprintf(format, arguments);
    va_end(arguments);
    const int rc = sql == NULL ? SQLITE_NOMEM : sqlite3_exec(db, sql, NULL, NULL, NULL);
    sqlite3_free(sql);
    return rc;
}

static int fts5DestroyMethod(sqlite3_vtab *table) {
    const Fts5Config *config = ((Fts5Table *)table)->pConfig;
    sqlite3 *db = config->db;
    const Trigger *trigger;
    int other = 0, rc = SQLITE_OK;
    for (int i = 0; (trigger = sqlcipherkit_writing_trigger(db, config->zDb, config->zName, i, &other)) != NULL; i++) {
        if (other) return sqlcipherkit_refuse_drop(db, config->zName, trigger->zName);
    }
    char *replaced = sqlite3_mprintf("%s_replaced", config->zName);
    if (replaced == NULL) return SQLITE_NOMEM;
    const int is_synchronized = sqlite3_table_column_metadata(db, config->zDb, replaced, "seq", 0, 0, 0, 0, 0) == SQLITE_OK;
    sqlite3_free(replaced);
    for (size_t i = 0; is_synchronized && rc == SQLITE_OK && i < sizeof sqlcipherkit_companions / sizeof *sqlcipherkit_companions;
         i += 2) {
        rc = sqlcipherkit_execute(db, "DROP %s IF EXISTS \"%w\".\"%w_%s\"", sqlcipherkit_companions[i], config->zDb, config->zName,
                            sqlcipherkit_companions[i + 1]);
    }
    while (rc == SQLITE_OK && (trigger = sqlcipherkit_writing_trigger(db, config->zDb, config->zName, 0, &other)) != NULL) {
        rc = sqlcipherkit_execute(db, "DROP TRIGGER \"%w\".\"%w\"", config->zDb, trigger->zName);
    }
    return rc != SQLITE_OK ? rc : upstream_fts5DestroyMethod(table);
}

#ifndef SQLCIPHERKIT_PLAIN_SYMBOLS
const char *sqlcipherkit_trigger_writing(sqlite3 *db, const char *schema, const char *table) {
    int other;
    const Trigger *trigger = sqlcipherkit_writing_trigger(db, schema, table, 0, &other);
    return trigger != NULL ? trigger->zName : NULL;
}
#endif

/* --- Merging ------------------------------------------------------------------------------------------------------------
 *
 * Each write adds a segment to an index, and segments are merged into larger ones. FTS5 does nothing for 64 pages, then all the
 * work for these; and once a level has as many segments as `crisismerge` says, it merges all of them, of whatever size. In an index
 * of a million rows such a write takes a quarter of a second. Here each write does its share. */

enum {
    sqlcipherkit_merge_unit = 8,
    sqlcipherkit_merged_pages = 256,
    /* FTS5 refuses every write to an index of 2,000 segments (FTS5_MAX_SEGMENT), as if the disk were full. */
    sqlcipherkit_most_segments = 1000,
    /* The work of a write is multiplied by the number of levels. */
    sqlcipherkit_most_levels = 8
};

static void fts5IndexAutomerge(Fts5Index *index, Fts5Structure **structure, int pages) {
    index->nWorkUnit = sqlcipherkit_merge_unit;
    upstream_fts5IndexAutomerge(index, structure, pages);
}

/* Merges whole levels, those with the most segments first. */
static void sqlcipherkit_merge_most(Fts5Index *index, Fts5Structure **structure) {
    while (index->rc == SQLITE_OK && (*structure)->nSegment >= sqlcipherkit_most_segments) {
        int most = 0;
        for (int level = 1; level < (*structure)->nLevel; level++) {
            if ((*structure)->aLevel[level].nSeg > (*structure)->aLevel[most].nSeg) most = level;
        }
        fts5IndexMergeLevel(index, structure, most, NULL);
    }
}

/* Merges the small segments of levels that have too many, and a part of large ones. */
static void fts5IndexCrisismerge(Fts5Index *index, Fts5Structure **structure) {
    int left = sqlcipherkit_merged_pages;
    if (*structure != NULL) sqlcipherkit_merge_most(index, structure);
    for (int level = 0; index->rc == SQLITE_OK && *structure != NULL && level < (*structure)->nLevel && left > 0; level++) {
        const Fts5StructureLevel *full = &(*structure)->aLevel[level];
        if (full->nSeg < index->pConfig->nCrisisMerge) return;
        fts5IndexMergeLevel(index, structure, level, &left);
        if (index->rc != SQLITE_OK || (*structure)->aLevel[level].nMerge > 0) return;
        fts5StructurePromote(index, level + 1, *structure);
    }
}

/* To optimize an index, FTS5 puts all segments into a new level. Ours puts them into the last one that may be. */
static Fts5Structure *fts5IndexOptimizeStruct(Fts5Index *index, Fts5Structure *structure) {
    Fts5Structure *all = upstream_fts5IndexOptimizeStruct(index, structure);
    if (all != NULL && all != structure && all->nLevel > sqlcipherkit_most_levels) {
        Fts5StructureLevel *last = &all->aLevel[all->nLevel - 1];
        all->nLevel = sqlcipherkit_most_levels;
        all->aLevel[all->nLevel - 1] = *last;
        memset(last, 0, sizeof *last);
    }
    return all;
}

/* Merges in steps, until one segment is left if `pages` is negative. FTS5 then begins again where rows have been written since the
 * last step: in a large index no merge ever ends, and each step leaves a segment behind. Ours ends the merges that have begun. */
static int sqlite3Fts5IndexMerge(Fts5Index *index, int pages) {
    int left = pages == INT32_MIN ? INT32_MAX : -pages, has_merged = 0;
    if (left > 0) {
        fts5IndexFlush(index);
        Fts5Structure *structure = fts5StructureRead(index);
        if (structure != NULL) fts5StructureInvalidate(index);
        int level = structure == NULL ? 0 : structure->nLevel;
        while (--level >= 0 && left > 0 && index->rc == SQLITE_OK) {
            if (structure->aLevel[level].nMerge == 0) continue;
            has_merged = 1;
            fts5IndexMergeLevel(index, &structure, level, &left);
            if (index->rc == SQLITE_OK && structure->aLevel[level].nMerge == 0) fts5StructurePromote(index, level + 1, structure);
        }
        if (has_merged) fts5StructureWrite(index, structure);
        fts5StructureRelease(structure);
        if (has_merged || index->rc != SQLITE_OK) return fts5IndexReturn(index);
    }
    return upstream_sqlite3Fts5IndexMerge(index, pages);
}
