/* An extension as SQLite's documentation has them, with SQLite's macros. */
#include <stddef.h>

#include "sqlite3ext.h"
SQLITE_EXTENSION_INIT1
#include "include/sample.h"

static void twice(sqlite3_context *context, int count, sqlite3_value **values) {
    (void)count;
    sqlite3_result_int64(context, 2 * sqlite3_value_int64(values[0]));
}

typedef struct {
    sqlite3_vtab_cursor base;
    sqlite3_int64 number;
} Countdown;

static int connect(sqlite3 *db, void *data, int count, const char *const *arguments, sqlite3_vtab **table, char **message) {
    (void)data, (void)count, (void)arguments, (void)message;
    int code = sqlite3_declare_vtab(db, "CREATE TABLE x(value, \"from\" HIDDEN)");
    if (code != SQLITE_OK) return code;
    *table = sqlite3_malloc(sizeof **table);
    if (*table == NULL) return SQLITE_NOMEM;
    **table = (sqlite3_vtab){0};
    return SQLITE_OK;
}

static int disconnect(sqlite3_vtab *table) {
    sqlite3_free(table);
    return SQLITE_OK;
}

static int best_index(sqlite3_vtab *table, sqlite3_index_info *info) {
    (void)table;
    for (int i = 0; i < info->nConstraint; i++) {
        if (info->aConstraint[i].iColumn != 1 || info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ) continue;
        if (!info->aConstraint[i].usable) return SQLITE_CONSTRAINT;
        info->aConstraintUsage[i].argvIndex = 1;
        info->aConstraintUsage[i].omit = 1;
        info->idxNum = 1;
    }
    return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *table, sqlite3_vtab_cursor **cursor) {
    (void)table;
    Countdown *countdown = sqlite3_malloc(sizeof *countdown);
    if (countdown == NULL) return SQLITE_NOMEM;
    *countdown = (Countdown){0};
    *cursor = &countdown->base;
    return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *cursor) {
    sqlite3_free(cursor);
    return SQLITE_OK;
}

static int filter(sqlite3_vtab_cursor *cursor, int number, const char *text, int count, sqlite3_value **values) {
    (void)number, (void)text;
    ((Countdown *)cursor)->number = count > 0 ? sqlite3_value_int64(values[0]) : 0;
    return SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *cursor) {
    ((Countdown *)cursor)->number--;
    return SQLITE_OK;
}

static int at_end(sqlite3_vtab_cursor *cursor) { return ((Countdown *)cursor)->number <= 0; }

static int column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column) {
    if (column == 0) sqlite3_result_int64(context, ((Countdown *)cursor)->number);
    return SQLITE_OK;
}

static int row_id(sqlite3_vtab_cursor *cursor, sqlite3_int64 *id) {
    *id = ((Countdown *)cursor)->number;
    return SQLITE_OK;
}

static const sqlite3_module countdown = {
    .xConnect = connect, .xBestIndex = best_index, .xDisconnect = disconnect, .xOpen = open_cursor, .xClose = close_cursor,
    .xFilter = filter, .xNext = next, .xEof = at_end, .xColumn = column, .xRowid = row_id,
};

int sqlite3_sample_init(sqlite3 *db, char **message, const sqlite3_api_routines *api) {
    (void)message;
    SQLITE_EXTENSION_INIT2(api)
    int code = sqlite3_create_function_v2(
        db, "sample_twice", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, NULL, twice, NULL, NULL, NULL);
    if (code != SQLITE_OK) return code;
    return sqlite3_create_module_v2(db, "sample_countdown", &countdown, NULL, NULL);
}

int sqlite3_failing_init(sqlite3 *db, char **message, const sqlite3_api_routines *api) {
    (void)db, (void)api;
    *message = sqlite3_mprintf("the sample does not work %s", "today");
    return SQLITE_ERROR;
}
