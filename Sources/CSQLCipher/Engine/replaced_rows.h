/* Rows that REPLACE deletes. engine.c includes this after the amalgamation; nothing else does.
 *
 * SQLite fires no delete triggers for these rows unless the connection has `recursive_triggers` on. A full-text index over the
 * table would then keep the entries of deleted rows, because its other triggers cannot know every unique index by which REPLACE
 * finds a row. So this code fires the delete triggers of such an index and of a change log, and no others, for each row that
 * REPLACE deletes.
 */

/* The table in which a trigger of a change log notes changes, which is to be freed; NULL for any other trigger. The trigger has the
 * table's name with an ending. */
static char *sqlcipherkit_noting_table(sqlite3 *db, const Trigger *trigger, const char *ending, const char *schema) {
    static const char outside[] = "changelog_outside_";
    const int size = trigger->zName == NULL ? 0 : (int)strlen(trigger->zName) - (int)strlen(ending);
    if (size <= (int)sizeof outside - 1 || sqlite3_strnicmp(trigger->zName, outside, (int)sizeof outside - 1) != 0) return NULL;
    if (sqlite3_stricmp(trigger->zName + size, ending) != 0) return NULL;
    char *table = sqlite3MPrintf(db, "%.*s", size, trigger->zName);
    if (table != NULL && sqlite3FindTable(db, table, schema) != NULL) return table;
    sqlite3DbFree(db, table);
    return NULL;
}

/* Returns whether a trigger belongs to a synchronized full-text index: it is named after an index that has its companion tables. Or
 * it notes changes outside of a change log. */
static int sqlcipherkit_keeps_an_index(sqlite3 *db, const Trigger *trigger, const char *schema) {
    static const char *const endings[] = {"_before_delete", "_after_delete"};
    const char *name = trigger->zName;
    if (trigger->op != TK_DELETE || name == NULL) return 0;
    const int size = (int)strlen(name);
    char *noted = sqlcipherkit_noting_table(db, trigger, "_delete", schema);
    sqlite3DbFree(db, noted);
    if (noted != NULL) return 1;
    for (int i = 0; i < 2; i++) {
        const int kept = size - (int)strlen(endings[i]);
        if (kept <= 0 || sqlite3_stricmp(name + kept, endings[i]) != 0) continue;
        int is_kept = 1;
        /* The index, a table that each FTS5 table has, and the table in which the triggers save old text. */
        static const char *const tables[] = {"", "_config", "_replaced"};
        for (int j = 0; j < 3 && is_kept; j++) {
            char *companion = sqlite3MPrintf(db, "%.*s%s", kept, name, tables[j]);
            const Table *table = companion ? sqlite3FindTable(db, companion, schema) : NULL;
            is_kept = table != NULL && (j > 0 || IsVirtual(table));
            sqlite3DbFree(db, companion);
        }
        return is_kept;
    }
    return 0;
}

/* The triggers to fire for a row that REPLACE deletes from a table, as a separate list; NULL for none. */
static Trigger *sqlcipherkit_index_triggers(Parse *parse, Table *table) {
    sqlite3 *db = parse->db;
    Parse *root = sqlite3ParseToplevel(parse);
    int are_on = 0;
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, -1, &are_on);
    if (table->pTrigger == NULL || parse->disableTriggers || !are_on) return NULL;
    Trigger *list = NULL;
    const char *schema = db->aDb[sqlcipherkit_place_in(db, table->pSchema)].zDbSName;
    for (Trigger *trigger = table->pTrigger; trigger != NULL; trigger = trigger->pNext) {
        if (trigger->pTabSchema != table->pSchema || trigger->table == NULL || sqlite3_stricmp(trigger->table, table->zName) != 0
            || !sqlcipherkit_keeps_an_index(db, trigger, schema)) {
            continue;
        }
        /* A copy, to be linked in a separate list. If a program was already compiled from a copy, that copy is used again. */
        Trigger *copy = NULL;
        for (const TriggerPrg *program = root->pTriggerPrg; program != NULL && copy == NULL; program = program->pNext) {
            if (program->pTrigger != trigger && program->pTrigger->zName == trigger->zName) copy = program->pTrigger;
        }
        if (copy == NULL) {
            copy = sqlite3DbMallocRaw(db, sizeof *copy);
            if (copy == NULL) return NULL;
            *copy = *trigger;
            if (sqlite3ParserAddCleanup(root, sqlite3DbFree, copy) == NULL) return NULL;
        }
        copy->pNext = list;
        list = copy;
    }
    return list;
}

SQLITE_PRIVATE void sqlite3GenerateRowDelete(Parse *parse, Table *table, Trigger *triggers, int data, int indexes, int key,
                                             short key_count, unsigned char counts, unsigned char conflict, unsigned char mode,
                                             int positioned) {
    if (conflict == OE_Replace && triggers == NULL) {
        triggers = sqlcipherkit_index_triggers(parse, table);
        if (triggers != NULL) sqlite3MultiWrite(parse);
    }
    upstream_sqlite3GenerateRowDelete(parse, table, triggers, data, indexes, key, key_count, counts, conflict, mode, positioned);
}
