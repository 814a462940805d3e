/* Blob handles write into a row without running a trigger. Only engine.c includes this, after changes.h. */
#include "../include/blobs.h"

typedef struct {
    Walker walker;
    const char *column;
    int is_found;
} sqlcipherkit_column_search;

static int sqlcipherkit_search_expression(Walker *walker, Expr *expression) {
    sqlcipherkit_column_search *search = (sqlcipherkit_column_search *)(void *)walker;
    const int is_name = expression->op == TK_ID && !ExprHasProperty(expression, EP_IntValue) && expression->u.zToken != NULL;
    if (is_name && sqlite3_stricmp(expression->u.zToken, search->column) == 0) search->is_found = 1;
    return search->is_found ? WRC_Abort : WRC_Continue;
}

static int sqlcipherkit_enter_select(Walker *walker, Select *select) {
    (void)walker, (void)select;
    return WRC_Continue;
}

/* Returns 1 if a trigger, or the view from which an index reads its content, names a column. */
static int sqlcipherkit_names_column(const Trigger *trigger, const Table *view, const char *column) {
    sqlcipherkit_column_search search = {{0}, column, 0};
    search.walker.xExprCallback = sqlcipherkit_search_expression;
    search.walker.xSelectCallback = sqlcipherkit_enter_select;
    Walker *walker = &search.walker;
    sqlite3WalkExpr(walker, trigger->pWhen);
    for (const TriggerStep *step = trigger->step_list; step != NULL && !search.is_found; step = step->pNext) {
        sqlite3WalkSelect(walker, step->pSelect);
        sqlite3WalkExpr(walker, step->pWhere);
        sqlite3WalkExprList(walker, step->pExprList);
    }
    if (view != NULL && IsView(view) && !search.is_found) sqlite3WalkSelect(walker, view->u.view.pSelect);
    return search.is_found;
}

/* The index that a trigger keeps up to date: the full-text index that it writes to, or the table of vectors that notes, in a table
 * of its own, which rows have none. The caller frees the result; NULL if the trigger keeps no index. */
static char *sqlcipherkit_index_of(sqlite3 *db, const Trigger *trigger, const char *schema) {
    static const char missing[] = "_missing";
    for (const TriggerStep *step = trigger->step_list; step != NULL; step = step->pNext) {
        const char *name = step->pSrc == NULL || step->pSrc->nSrc == 0 ? NULL : step->pSrc->a[0].zName;
        const Table *table = name == NULL ? NULL : sqlite3FindTable(db, name, schema);
        if (table == NULL) continue;
        if (IsVirtual(table)) return sqlite3MPrintf(db, "%s", name);
        const int size = (int)strlen(name) - (int)sizeof missing + 1;
        if (size <= 0 || sqlite3_stricmp(name + size, missing) != 0) continue;
        char *index = sqlite3MPrintf(db, "%.*s", size, name), *chunks = sqlite3MPrintf(db, "%.*s_chunks", size, name);
        const int is_there = index != NULL && chunks != NULL && sqlite3FindTable(db, chunks, schema) != NULL;
        sqlite3DbFree(db, chunks);
        if (is_there) return index;
        sqlite3DbFree(db, index);
    }
    return NULL;
}

int sqlcipherkit_open_blob(sqlite3 *db, const char *schema, const char *name, const char *column, sqlite3_int64 row_id, int writes,
                           sqlite3_blob **blob) {
    int rc = sqlite3_blob_open(db, schema, name, column, row_id, writes, blob);
    if (rc != SQLITE_OK || !writes) return rc;
    sqlite3_mutex_enter(db->mutex);
    const Table *table = sqlite3FindTable(db, name, schema);
    const Trigger *trigger = table == NULL ? NULL : table->pTrigger;
    for (; trigger != NULL && rc == SQLITE_OK; trigger = trigger->pNext) {
        if (trigger->op != TK_UPDATE) continue;
        char *index = sqlcipherkit_index_of(db, trigger, schema);
        if (index == NULL) continue;
        char *source = sqlite3MPrintf(db, "%s_source", index);
        const Table *view = source == NULL ? NULL : sqlite3FindTable(db, source, schema);
        const int is_indexed = trigger->pColumns != NULL ? sqlite3IdListIndex(trigger->pColumns, column) >= 0
                                                         : sqlcipherkit_names_column(trigger, view, column);
        if (is_indexed) {
            sqlite3_blob_close(*blob);
            *blob = NULL;
            rc = SQLITE_ERROR;
            char *message = sqlite3_mprintf("cannot open the column %s for writing: a blob handle would write past %s, which an "
                                            "UPDATE keeps up to date", column, index);
            sqlite3_set_errmsg(db, rc, message);
            sqlite3_free(message);
        }
        sqlite3DbFree(db, source);
        sqlite3DbFree(db, index);
    }
    sqlite3_mutex_leave(db->mutex);
    return rc;
}

/* A name of the row id that no column has; NULL if columns have all of them. */
static const char *sqlcipherkit_row_id_name(const Table *table) {
    static const char *const names[] = {"_ROWID_", "ROWID", "OID"};
    for (int i = 0; i < 3; i++) {
        int column = 0;
        while (column < table->nCol && sqlite3_stricmp(table->aCol[column].zCnName, names[i]) != 0) column++;
        if (column == table->nCol) return names[i];
    }
    return NULL;
}

/* The same row is not noted twice in a row. */
static int sqlcipherkit_note_written_row(sqlite3 *db, const char *schema, const char *name, sqlite3_int64 row_id) {
    Table *table = sqlite3FindTable(db, name, schema);
    char *target = NULL;
    const Trigger *trigger = table == NULL ? NULL : table->pTrigger;
    for (; trigger != NULL && target == NULL; trigger = trigger->pNext) {
        /* While the log itself writes, its triggers rest, and its recorder hears of the write. */
        if (trigger->op == TK_UPDATE) target = sqlcipherkit_noting_table(db, trigger, "_update", schema);
    }
    if (target == NULL) return SQLITE_OK;
    const int has_column = table->iPKey >= 0;
    const char *id = has_column ? table->aCol[table->iPKey].zCnName : sqlcipherkit_row_id_name(table);
    const char *quote = has_column ? "\"" : "";
    char *keys = sqlcipherkit_key_list(table, ", ");
    char *sql = keys == NULL || id == NULL ? NULL : sqlite3_mprintf(
        "INSERT INTO \"%w\".\"%w\" SELECT * FROM (SELECT 1%s FROM \"%w\".\"%w\" WHERE %s%w%s = %lld) EXCEPT "
        "SELECT * FROM \"%w\".\"%w\" WHERE rowid = (SELECT max(rowid) FROM \"%w\".\"%w\")",
        schema, target, keys, schema, name, quote, id, quote, row_id, schema, target, schema, target);
    int rc = id == NULL ? SQLITE_ERROR : SQLITE_NOMEM;
    if (sql != NULL) rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
    sqlite3_free(sql);
    sqlite3_free(keys);
    sqlite3DbFree(db, target);
    return rc;
}

int sqlcipherkit_write_blob(sqlite3 *db, const char *schema, const char *table, sqlite3_int64 row_id, sqlite3_blob *blob,
                            const void *bytes, int count, int offset) {
    sqlite3_mutex_enter(db->mutex);
    int rc = sqlcipherkit_note_written_row(db, schema, table, row_id);
    if (rc == SQLITE_OK) rc = sqlite3_blob_write(blob, bytes, count, offset);
    sqlite3_mutex_leave(db->mutex);
    return rc;
}
