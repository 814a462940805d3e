/* The table generate_series(START, STOP, STEP). STOP is 4294967295 by default, STEP is 1, and so is a step of 0. */
#include "series.h"

#include "CSQLCipher.h"

enum { column_value, column_start, column_stop, column_step };

struct series_cursor {
    sqlite3_vtab_cursor base;
    sqlite3_int64 start, stop, step, value;
    /* How many rows follow this one, and whether there is this one. */
    sqlite3_uint64 left;
    int has_row;
};

static int series_connect(sqlite3 *db, void *context, int count, const char *const *arguments, sqlite3_vtab **table,
                          char **error) {
    (void)context, (void)count, (void)arguments, (void)error;
    int rc = sqlite3_declare_vtab(db, "CREATE TABLE series(value, start HIDDEN, stop HIDDEN, step HIDDEN)");
    if (rc != SQLITE_OK) {
        return rc;
    }
    *table = sqlite3_malloc(sizeof **table);
    if (*table == NULL) {
        return SQLITE_NOMEM;
    }
    **table = (sqlite3_vtab){0};
    return sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
}

static int series_disconnect(sqlite3_vtab *table) {
    sqlite3_free(table);
    return SQLITE_OK;
}

static int series_open(sqlite3_vtab *table, sqlite3_vtab_cursor **cursor) {
    (void)table;
    struct series_cursor *new = sqlite3_malloc(sizeof *new);
    if (new == NULL) {
        return SQLITE_NOMEM;
    }
    *new = (struct series_cursor){0};
    *cursor = &new->base;
    return SQLITE_OK;
}

static int series_close(sqlite3_vtab_cursor *cursor) {
    sqlite3_free(cursor);
    return SQLITE_OK;
}

/* The plan's number has a bit for each argument that is given, in their order. */
static int series_best_index(sqlite3_vtab *table, sqlite3_index_info *info) {
    int given[4] = {-1, -1, -1, -1}, next = 0;
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];
        if (constraint->iColumn < column_start || constraint->op != SQLITE_INDEX_CONSTRAINT_EQ) {
            continue;
        }
        if (!constraint->usable) {
            return SQLITE_CONSTRAINT;
        }
        given[constraint->iColumn] = i;
    }
    if (given[column_start] < 0) {
        sqlite3_free(table->zErrMsg);
        table->zErrMsg = sqlite3_mprintf("generate_series() needs its first argument");
        return SQLITE_ERROR;
    }
    for (int column = column_start; column <= column_step; column++) {
        if (given[column] >= 0) {
            info->aConstraintUsage[given[column]].argvIndex = ++next;
            info->aConstraintUsage[given[column]].omit = 1;
            info->idxNum |= 1 << column;
        }
    }
    info->estimatedCost = given[column_stop] >= 0 ? 1000 : 4294967295.0;
    info->estimatedRows = given[column_stop] >= 0 ? 1000 : 4294967295;
    return SQLITE_OK;
}

static int series_filter(sqlite3_vtab_cursor *base, int plan, const char *name, int count, sqlite3_value **arguments) {
    (void)name;
    struct series_cursor *cursor = (struct series_cursor *)base;
    sqlite3_int64 *numbers[] = {NULL, &cursor->start, &cursor->stop, &cursor->step};
    cursor->start = 0, cursor->stop = 4294967295, cursor->step = 1, cursor->has_row = 0;
    for (int column = column_start, i = 0; column <= column_step && i < count; column++) {
        if (plan & 1 << column) {
            if (sqlite3_value_type(arguments[i]) == SQLITE_NULL) {
                return SQLITE_OK;
            }
            *numbers[column] = sqlite3_value_int64(arguments[i++]);
        }
    }
    if (cursor->step == 0) {
        cursor->step = 1;
    }
    /* Differences and the least step's size need all 64 bits. */
    sqlite3_uint64 start = (sqlite3_uint64)cursor->start, stop = (sqlite3_uint64)cursor->stop;
    cursor->value = cursor->start;
    if (cursor->step > 0) {
        cursor->has_row = cursor->start <= cursor->stop;
        cursor->left = (stop - start) / (sqlite3_uint64)cursor->step;
    } else {
        cursor->has_row = cursor->start >= cursor->stop;
        cursor->left = (start - stop) / (0 - (sqlite3_uint64)cursor->step);
    }
    return SQLITE_OK;
}

static int series_next(sqlite3_vtab_cursor *base) {
    struct series_cursor *cursor = (struct series_cursor *)base;
    if (cursor->left == 0) {
        cursor->has_row = 0;
    } else {
        cursor->left--;
        cursor->value += cursor->step;
    }
    return SQLITE_OK;
}

static int series_eof(sqlite3_vtab_cursor *base) { return !((struct series_cursor *)base)->has_row; }

static int series_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column) {
    const struct series_cursor *cursor = (const struct series_cursor *)base;
    const sqlite3_int64 values[] = {cursor->value, cursor->start, cursor->stop, cursor->step};
    sqlite3_result_int64(context, values[column]);
    return SQLITE_OK;
}

static int series_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid) {
    *rowid = ((const struct series_cursor *)base)->value;
    return SQLITE_OK;
}

int toolstart_add_series(struct sqlite3 *db) {
    static const sqlite3_module module = {
        .xConnect = series_connect, .xBestIndex = series_best_index, .xDisconnect = series_disconnect,
        .xOpen = series_open, .xClose = series_close, .xFilter = series_filter, .xNext = series_next,
        .xEof = series_eof, .xColumn = series_column, .xRowid = series_rowid,
    };
    return sqlite3_create_module_v2(db, "generate_series", &module, NULL, NULL);
}
