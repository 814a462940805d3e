/* Rows as values, read from their records. Only engine.c includes this, after the amalgamation. */
#include "../include/recorder.h"

typedef struct {
    int type;
    int size;
    union {
        sqlite3_int64 integer;
        double real;
        const unsigned char *bytes;
    } as;
} sqlcipherkit_row_value;

/* The form in which a table stores its rows. Generated columns are left out. */
typedef struct sqlcipherkit_row_form {
    /* The table and the version of the schema that the form was made from, to recognize it by. */
    const Table *table;
    int cookie, generation;
    int count;
    /* The column that is the row id; -1 for none. */
    int row_id;
    /* True if the row is found by a row id. */
    int has_row_id;
    /* The number of values in a record, and the column of each value; -1 for a generated column. */
    int stored;
    int *columns;
    /* For each column: its position in the table, a hash of its name, whether it is in the key, and REAL, and how keys compare. */
    int *places;
    u32 *names;
    unsigned char *is_key, *is_real, *folds;
    /* The values of columns that records from before ALTER TABLE ADD COLUMN lack. NULL if all are NULL. */
    sqlite3_value **defaults;
    struct sqlcipherkit_row_form *older;
} sqlcipherkit_row_form;

enum { sqlcipherkit_binary, sqlcipherkit_nocase, sqlcipherkit_rtrim, sqlcipherkit_other_collation };

static int sqlcipherkit_is_form_of(const sqlcipherkit_row_form *form, const Table *table) {
    return form->table == table && form->cookie == table->pSchema->schema_cookie && form->generation == table->pSchema->iGeneration;
}

static void sqlcipherkit_free_form(sqlcipherkit_row_form *form) {
    for (int i = 0; form->defaults != NULL && i < form->count; i++) sqlite3ValueFree(form->defaults[i]);
    sqlite3_free(form->defaults);
    sqlite3_free(form);
}

static int sqlcipherkit_read_defaults(const Table *table, sqlite3 *db, sqlcipherkit_row_form *form) {
    form->defaults = sqlite3_malloc64((size_t)form->count * sizeof(sqlite3_value *));
    if (form->defaults == NULL) return SQLITE_NOMEM;
    memset(form->defaults, 0, (size_t)form->count * sizeof(sqlite3_value *));
    for (int i = 0; i < form->count; i++) {
        const Column *column = &table->aCol[form->places[i]];
        if (column->iDflt == 0) continue;
        const Expr *expression = table->u.tab.pDfltList->a[column->iDflt - 1].pExpr;
        int rc = sqlite3ValueFromExpr(db, expression, ENC(db), column->affinity, &form->defaults[i]);
        if (rc != SQLITE_OK) return rc;
    }
    return SQLITE_OK;
}

/* The index of a table's key; NULL if that is the row id, or the table has none. */
static const Index *sqlcipherkit_key_index(const Table *table) {
    const Index *index = table->pIndex;
    while (index != NULL && !IsPrimaryKeyIndex(index)) index = index->pNext;
    return index;
}

/* NULL if there is no memory for it. */
static sqlcipherkit_row_form *sqlcipherkit_make_form(sqlite3 *db, Table *table) {
    const Index *index = HasRowid(table) ? NULL : sqlcipherkit_key_index(table);
    const int stored = index != NULL ? index->nColumn : table->nNVCol, all = table->nCol;
    sqlcipherkit_row_form *form =
        sqlite3_malloc64(sizeof *form + (size_t)(stored + 2 * all) * sizeof(int) + 3 * (size_t)all * sizeof(unsigned char));
    if (form == NULL) return NULL;
    memset(form, 0, sizeof *form);
    form->table = table;
    form->cookie = table->pSchema->schema_cookie;
    form->generation = table->pSchema->iGeneration;
    form->row_id = -1;
    form->has_row_id = index == NULL;
    form->stored = stored;
    form->columns = (int *)(form + 1);
    form->places = form->columns + stored;
    form->names = (u32 *)(form->places + all);
    form->is_key = (unsigned char *)(form->names + all);
    form->is_real = form->is_key + all;
    form->folds = form->is_real + all;
    int has_defaults = 0;
    for (int i = 0; i < stored; i++) form->columns[i] = -1;
    for (int i = 0; i < all; i++) {
        Column *column = &table->aCol[i];
        if ((column->colFlags & COLFLAG_GENERATED) != 0) continue;
        const int n = form->count++;
        const int at = index != NULL ? sqlite3TableColumnToIndex((Index *)index, i) : sqlite3TableColumnToStorage(table, (i16)i);
        if (at >= 0 && at < stored) form->columns[at] = n;
        const char *collation = sqlite3ColumnColl(column);
        form->places[n] = i;
        form->names[n] = 2166136261u;
        for (const char *name = column->zCnName; *name != 0; name++) {
            form->names[n] = (form->names[n] ^ (unsigned char)*name) * 16777619u;
        }
        form->is_key[n] = (column->colFlags & COLFLAG_PRIMKEY) != 0;
        form->is_real[n] = column->affinity == SQLITE_AFF_REAL;
        form->folds[n] = collation == NULL || sqlite3_stricmp(collation, "BINARY") == 0 ? sqlcipherkit_binary
                         : sqlite3_stricmp(collation, "NOCASE") == 0                    ? sqlcipherkit_nocase
                         : sqlite3_stricmp(collation, "RTRIM") == 0                     ? sqlcipherkit_rtrim
                                                                                       : sqlcipherkit_other_collation;
        if (i == table->iPKey) form->row_id = n;
        has_defaults = has_defaults || column->iDflt != 0;
    }
    if (has_defaults && sqlcipherkit_read_defaults(table, db, form) != SQLITE_OK) {
        sqlcipherkit_free_form(form);
        return NULL;
    }
    return form;
}

/* Writes out the zeros of a blob that has only their number. */
static int sqlcipherkit_write_zeros(sqlite3_value *value) {
    if (sqlite3_value_type(value) != SQLITE_BLOB) return SQLITE_OK;
    return sqlite3_value_blob(value) == NULL && sqlite3_value_bytes(value) > 0 ? SQLITE_NOMEM : SQLITE_OK;
}

/* The value of a register or of a column of a result. The bytes are valid as long as it is. */
static sqlcipherkit_row_value sqlcipherkit_value_of(Mem *memory, int is_real) {
    sqlcipherkit_row_value value = {sqlite3_value_type(memory), 0, {0}};
    if (value.type == SQLITE_INTEGER && is_real) value.type = SQLITE_FLOAT;
    switch (value.type) {
    case SQLITE_INTEGER: value.as.integer = sqlite3_value_int64(memory); break;
    case SQLITE_FLOAT: value.as.real = sqlite3_value_double(memory); break;
    case SQLITE_TEXT:
    case SQLITE_BLOB:
        value.size = memory->n;
        value.as.bytes = (const unsigned char *)memory->z;
        break;
    default: break;
    }
    return value;
}

static int sqlcipherkit_is_same_value(const sqlcipherkit_row_value *a, const sqlcipherkit_row_value *b) {
    if (a->type != b->type) return 0;
    switch (a->type) {
    case SQLITE_NULL: return 1;
    /* The bits, so that no sign of a zero is lost. */
    case SQLITE_INTEGER:
    case SQLITE_FLOAT: return a->as.integer == b->as.integer;
    default: return a->size == b->size && (a->size == 0 || memcmp(a->as.bytes, b->as.bytes, (size_t)a->size) == 0);
    }
}

/* The value of a column that records lack which are older than it. */
static sqlcipherkit_row_value sqlcipherkit_default(const sqlcipherkit_row_form *form, int column) {
    const sqlcipherkit_row_value null = {SQLITE_NULL, 0, {0}};
    Mem *found = form->defaults != NULL ? form->defaults[column] : NULL;
    return found == NULL ? null : sqlcipherkit_value_of(found, form->is_real[column]);
}

/* Reads a value of a record (https://sqlite.org/fileformat2.html#record_format), unless `value` is NULL: then it is passed over.
 * Returns 0 after damage. */
static int sqlcipherkit_read_stored(sqlcipherkit_reader *content, int type, int is_real, sqlcipherkit_row_value *value) {
    static const unsigned char sizes[] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0};
    const int size = type >= 12 ? (type - 12) / 2 : sizes[type];
    const u8 *bytes = sqlcipherkit_read_part(content, size);
    if (bytes == NULL || value == NULL) return bytes != NULL;
    value->type = SQLITE_NULL;
    if (type >= 12) {
        value->type = (type & 1) != 0 ? SQLITE_TEXT : SQLITE_BLOB;
        value->size = size;
        value->as.bytes = bytes;
    } else if (type >= 1 && type <= 9) {
        /* In two's complement, the most significant byte first. */
        u64 bits = size > 0 && bytes[0] >= 0x80 ? ~(u64)0 : 0;
        for (int i = 0; i < size; i++) bits = bits << 8 | bytes[i];
        value->type = SQLITE_INTEGER;
        value->as.integer = type >= 8 ? type - 8 : (sqlite3_int64)bits;
        if (type == 7) {
            memcpy(&value->as.real, &bits, sizeof bits);
            value->type = isnan(value->as.real) ? SQLITE_NULL : SQLITE_FLOAT;
        } else if (is_real) {
            value->as.real = (double)value->as.integer;
            value->type = SQLITE_FLOAT;
        }
    }
    return 1;
}

static int sqlcipherkit_read_record(const sqlcipherkit_row_form *form, const unsigned char *record, u32 size,
                                    sqlite3_int64 row_id, sqlcipherkit_row_value *values) {
    sqlcipherkit_reader header = {record, 0, (int)sqlcipherkit_lesser(size, (u32)INT32_MAX)}, content = header;
    const int start = sqlcipherkit_read_size(&header);
    sqlcipherkit_read_part(&content, start);
    if (sqlcipherkit_is_damaged(&header) || sqlcipherkit_is_damaged(&content)) return SQLITE_CORRUPT;
    header.end = start;
    int place = 0;
    for (; place < form->stored && header.at < header.end; place++) {
        const int type = sqlcipherkit_read_size(&header), column = form->columns[place];
        const int is_real = column >= 0 && form->is_real[column];
        sqlcipherkit_row_value *value = column >= 0 ? &values[column] : NULL;
        if (sqlcipherkit_is_damaged(&header) || !sqlcipherkit_read_stored(&content, type, is_real, value)) return SQLITE_CORRUPT;
    }
    for (; place < form->stored; place++) {
        const int column = form->columns[place];
        if (column >= 0) values[column] = sqlcipherkit_default(form, column);
    }
    if (form->row_id >= 0) {
        values[form->row_id].type = SQLITE_INTEGER;
        values[form->row_id].as.integer = row_id;
    }
    return SQLITE_OK;
}
