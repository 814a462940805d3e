/* The columns of a row. Only engine.c includes this, after the amalgamation. */
#include "../include/columns.h"

/* columnMem without the connection's mutex, which the thread that steps the statement does not need, and without setting an error
 * on the connection. NULL outside the row. */
static inline Mem *sqlcipherkit_column(sqlite3_stmt *statement, int index) {
    Vdbe *vm = (Vdbe *)statement;
    if (index < 0 || index >= sqlite3_data_count(statement)) return NULL;
    return &vm->pResultRow[index];
}

sqlite3_value *sqlcipherkit_bound_value(sqlite3_stmt *statement, int index) {
    Vdbe *vm = (Vdbe *)statement;
    return index < 1 || index > sqlite3_bind_parameter_count(statement) ? NULL : &vm->aVar[index - 1];
}

int sqlcipherkit_is_same_bound(sqlite3_stmt *statement, int index, int other) {
    Mem *a = (Mem *)sqlcipherkit_bound_value(statement, index), *b = (Mem *)sqlcipherkit_bound_value(statement, other);
    if (a == NULL || b == NULL) return 0;
    int type = sqlite3_value_type((sqlite3_value *)a);
    if (type != sqlite3_value_type((sqlite3_value *)b)) return 0;
    const void *first = a->z, *second = b->z;
    switch (type) {
    case SQLITE_INTEGER: return sqlite3_value_int64((sqlite3_value *)a) == sqlite3_value_int64((sqlite3_value *)b);
    case SQLITE_FLOAT: return sqlite3_value_double((sqlite3_value *)a) == sqlite3_value_double((sqlite3_value *)b);
    case SQLITE_BLOB:
        /* Writes out the zeroes of a blob that has only their number. */
        first = sqlite3_value_blob((sqlite3_value *)a);
        second = sqlite3_value_blob((sqlite3_value *)b);
        break;
    case SQLITE_TEXT: break;
    default: return 1;
    }
    if (a->n != b->n || (a->flags | b->flags) & MEM_Zero) return 0;
    return a->n == 0 || (first && second && memcmp(first, second, (size_t)a->n) == 0);
}

int sqlcipherkit_column_int64(sqlite3_stmt *statement, int index, sqlite3_int64 *value) {
    Mem *column = sqlcipherkit_column(statement, index);
    if (column == NULL) return SQLITE_NULL;
    int type = sqlite3_value_type((sqlite3_value *)column);
    /* With this storage class the value is an integer: nothing is converted, so nothing can fail. */
    if (type == SQLITE_INTEGER) *value = sqlite3_value_int64((sqlite3_value *)column);
    return type;
}

int sqlcipherkit_column_double(sqlite3_stmt *statement, int index, double *value) {
    Mem *column = sqlcipherkit_column(statement, index);
    if (column == NULL) return SQLITE_NULL;
    int type = sqlite3_value_type((sqlite3_value *)column);
    if (type == SQLITE_FLOAT) *value = sqlite3_value_double((sqlite3_value *)column);
    return type;
}

int sqlcipherkit_column_bytes(sqlite3_stmt *statement, int index, const void **bytes, int *count) {
    Mem *column = sqlcipherkit_column(statement, index);
    if (column == NULL) return SQLITE_NULL;
    int type = sqlite3_value_type((sqlite3_value *)column);
    /* Nothing to convert: sqlite3_value_text and _blob would return the same pointer. */
    if ((type == SQLITE_TEXT && (column->flags & (MEM_Str | MEM_Term)) == (MEM_Str | MEM_Term) && column->enc == SQLITE_UTF8) ||
        (type == SQLITE_BLOB && (column->flags & (MEM_Blob | MEM_Zero)) == MEM_Blob && column->n > 0)) {
        *bytes = column->z;
        *count = column->n;
        return type;
    }
    /* Converting may allocate memory: do it as SQLite does, with its mutex and its record of a failure. */
    if (type == SQLITE_TEXT || type == SQLITE_BLOB) {
        *bytes = type == SQLITE_TEXT ? (const void *)sqlite3_column_text(statement, index) : sqlite3_column_blob(statement, index);
        *count = sqlite3_column_bytes(statement, index);
        /* A NULL pointer for text means that its conversion to UTF-8, or the expansion of a zero-blob, ran out of memory. */
        if (*bytes == NULL && (*count > 0 || type == SQLITE_TEXT)) *count = -1;
    }
    return type;
}
