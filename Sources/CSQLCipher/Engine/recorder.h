/* Notes rows that change, for change logs. Only engine.c includes this, after recorded_rows.h. */

/* A row that was touched: its key, and its record before that. */
typedef struct {
    sqlcipherkit_row_form *form;
    /* The row id at which the row with this key was put last. */
    sqlite3_int64 row_id;
    /* A key that is one integer, or the hash of one whose bytes follow. */
    sqlite3_int64 key;
    /* 0 for an integer. */
    u32 key_size;
    u32 record_size;
    int had_record;
    unsigned char bytes[];
} sqlcipherkit_touched_row;

typedef struct {
    char *name;
    /* The last form; older ones follow. */
    sqlcipherkit_row_form *form;
    sqlcipherkit_touched_row **rows;
    size_t count, capacity;
    /* The place of a row among the rows, from 1 on, where the hash of its key leads. */
    u32 *slots;
    size_t slot_count;
} sqlcipherkit_recorded_table;

typedef struct sqlcipherkit_memory_block {
    struct sqlcipherkit_memory_block *next;
    size_t used, size;
} sqlcipherkit_memory_block;

typedef struct {
    unsigned char *bytes;
    size_t count, capacity;
} sqlcipherkit_byte_list;

struct sqlcipherkit_recorder {
    struct sqlcipherkit_recorder *next;
    sqlite3 *db;
    int rc;
    sqlcipherkit_recorded_table *tables;
    int table_count;
    /* The table of the last change. */
    sqlcipherkit_recorded_table *last;
    sqlcipherkit_memory_block *memory;
    /* Keys, and a record, that are read. */
    sqlcipherkit_byte_list key, other_key, record;
    sqlcipherkit_row_value *values, *old_values;
    int value_capacity;
    /* The recording. */
    sqlcipherkit_byte_list out_values, out_keys, out_changes, out_forms;
    size_t change_count, form_count;
    u64 *mask;
};

/* Makes room for more bytes. Returns whether there is. */
static int sqlcipherkit_make_room(sqlcipherkit_byte_list *list, size_t more) {
    if (list->capacity - list->count >= more) return 1;
    size_t capacity = list->capacity < 256 ? 256 : list->capacity * 2;
    if (capacity < list->count + more) capacity = list->count + more;
    unsigned char *bytes = sqlite3_realloc64(list->bytes, capacity);
    if (bytes == NULL) return 0;
    list->bytes = bytes;
    list->capacity = capacity;
    return 1;
}

/* Memory that lasts as long as the recorder; NULL if there is none. */
static void *sqlcipherkit_recorder_memory(sqlcipherkit_recorder *recorder, size_t size) {
    size = (size + 7) & ~(size_t)7;
    sqlcipherkit_memory_block *block = recorder->memory;
    if (block == NULL || block->size - block->used < size) {
        size_t wanted = block == NULL ? 2048 : block->size < 512 * 1024 ? block->size * 2 : block->size;
        if (wanted < size) wanted = size;
        block = sqlite3_malloc64(sizeof *block + wanted);
        if (block == NULL) return NULL;
        block->next = recorder->memory;
        block->used = 0;
        block->size = wanted;
        recorder->memory = block;
    }
    void *found = (unsigned char *)(block + 1) + block->used;
    block->used += size;
    return found;
}

/* Room for the values of a row. */
static int sqlcipherkit_make_values(sqlcipherkit_recorder *recorder, int count) {
    if (recorder->value_capacity >= count) return SQLITE_OK;
    sqlite3_free(recorder->values);
    recorder->value_capacity = 0;
    const size_t size = (size_t)count * sizeof *recorder->values;
    recorder->values = sqlite3_malloc64(2 * size + ((size_t)count / 64 + 1) * sizeof(u64));
    if (recorder->values == NULL) return SQLITE_NOMEM;
    recorder->old_values = recorder->values + count;
    recorder->mask = (u64 *)(recorder->old_values + count);
    recorder->value_capacity = count;
    return SQLITE_OK;
}

/* --- Keys ---------------------------------------------------------------------------------------------------------- */

/* Appends a value of a key, so that values that differ have different bytes. */
static int sqlcipherkit_put_key_value(sqlcipherkit_byte_list *key, const sqlcipherkit_row_value *value) {
    const int is_bytes = value->type == SQLITE_TEXT || value->type == SQLITE_BLOB;
    const size_t size = is_bytes ? (size_t)value->size : 0;
    if (!sqlcipherkit_make_room(key, 9 + size)) return SQLITE_NOMEM;
    unsigned char *bytes = key->bytes + key->count;
    bytes[0] = (unsigned char)value->type;
    /* The table takes both zeros for one. */
    const int is_zero = value->type == SQLITE_FLOAT && value->as.real == 0;
    sqlite3_int64 number = is_bytes ? value->size : is_zero ? 0 : value->as.integer;
    memcpy(bytes + 1, &number, sizeof number);
    if (size > 0) memcpy(bytes + 9, value->as.bytes, size);
    key->count += 9 + size;
    return SQLITE_OK;
}

typedef struct {
    sqlite3_int64 number;
    /* NULL for a key that is one integer. */
    const unsigned char *bytes;
    size_t size;
} sqlcipherkit_recorded_key;

static sqlcipherkit_recorded_key sqlcipherkit_integer_key(sqlite3_int64 number) {
    const sqlcipherkit_recorded_key key = {number, NULL, 0};
    return key;
}

static u64 sqlcipherkit_spread(u64 number) {
    number ^= number >> 32;
    number *= 0x9e3779b97f4a7c15u;
    return number ^ number >> 29;
}

/* The key among the values of a row. `bytes` takes it. */
static int sqlcipherkit_key_of(const sqlcipherkit_row_form *form, const sqlcipherkit_row_value *values,
                               sqlcipherkit_byte_list *bytes, sqlcipherkit_recorded_key *key) {
    bytes->count = 0;
    int count = 0, only = -1;
    for (int i = 0; i < form->count; i++) {
        if (!form->is_key[i]) continue;
        /* sqlcipherkit_known_value refuses these values. */
        if (values[i].type == SQLITE_NULL || form->folds[i] == sqlcipherkit_other_collation) return SQLITE_CONSTRAINT;
        int rc = sqlcipherkit_put_key_value(bytes, &values[i]);
        if (rc != SQLITE_OK) return rc;
        count++;
        only = i;
    }
    if (count == 1 && values[only].type == SQLITE_INTEGER) {
        *key = sqlcipherkit_integer_key(values[only].as.integer);
        return SQLITE_OK;
    }
    u64 hash = bytes->count;
    size_t at = 0;
    for (; at + 8 <= bytes->count; at += 8) {
        u64 word;
        memcpy(&word, bytes->bytes + at, sizeof word);
        hash = sqlcipherkit_spread(hash ^ word);
    }
    u64 rest = 0;
    if (at < bytes->count) memcpy(&rest, bytes->bytes + at, bytes->count - at);
    key->number = (sqlite3_int64)sqlcipherkit_spread(hash ^ rest);
    key->bytes = bytes->bytes;
    key->size = bytes->count;
    return SQLITE_OK;
}

static int sqlcipherkit_has_key(const sqlcipherkit_touched_row *row, const sqlcipherkit_recorded_key *key) {
    return row->key == key->number && row->key_size == key->size &&
           (key->size == 0 || memcmp(row->bytes, key->bytes, key->size) == 0);
}

/* The slot of a key: that of its row, or an empty one. */
static u32 *sqlcipherkit_slot_of_key(const sqlcipherkit_recorded_table *table, const sqlcipherkit_recorded_key *key) {
    size_t at = (size_t)sqlcipherkit_spread((u64)key->number) & (table->slot_count - 1);
    while (table->slots[at] != 0 && !sqlcipherkit_has_key(table->rows[table->slots[at] - 1], key)) {
        at = (at + 1) & (table->slot_count - 1);
    }
    return &table->slots[at];
}

static int sqlcipherkit_grow_slots(sqlcipherkit_recorded_table *table) {
    if (table->count == table->capacity) {
        const size_t capacity = table->capacity == 0 ? 8 : table->capacity * 2;
        if (capacity > 0x7fffffff) return SQLITE_TOOBIG;
        sqlcipherkit_touched_row **rows = sqlite3_realloc64(table->rows, capacity * sizeof *rows);
        if (rows == NULL) return SQLITE_NOMEM;
        table->rows = rows;
        table->capacity = capacity;
    }
    if (table->count * 2 < table->slot_count) return SQLITE_OK;
    const size_t count = table->slot_count == 0 ? 16 : table->slot_count * 4;
    u32 *slots = sqlite3_malloc64(count * sizeof *slots);
    if (slots == NULL) return SQLITE_NOMEM;
    memset(slots, 0, count * sizeof *slots);
    sqlite3_free(table->slots);
    table->slots = slots;
    table->slot_count = count;
    for (size_t i = 0; i < table->count; i++) {
        const sqlcipherkit_touched_row *row = table->rows[i];
        const sqlcipherkit_recorded_key key = {row->key, row->key_size > 0 ? row->bytes : NULL, row->key_size};
        *sqlcipherkit_slot_of_key(table, &key) = (u32)i + 1;
    }
    return SQLITE_OK;
}

/* --- Rows that change ---------------------------------------------------------------------------------------------- */

/* Notes a row.
 * cursor: where its record is; NULL for a row that is inserted. */
static int sqlcipherkit_touch(sqlcipherkit_recorder *recorder, sqlcipherkit_recorded_table *table,
                              const sqlcipherkit_recorded_key *key, sqlite3_int64 row_id, BtCursor *cursor) {
    int rc = sqlcipherkit_grow_slots(table);
    if (rc != SQLITE_OK) return rc;
    u32 *slot = sqlcipherkit_slot_of_key(table, key);
    if (*slot != 0) {
        if (cursor == NULL) table->rows[*slot - 1]->row_id = row_id;
        return SQLITE_OK;
    }
    const u32 size = cursor == NULL ? 0 : sqlite3BtreePayloadSize(cursor);
    sqlcipherkit_touched_row *row = sqlcipherkit_recorder_memory(recorder, sizeof *row + key->size + size + 16);
    if (row == NULL) return SQLITE_NOMEM;
    row->form = table->form;
    row->row_id = row_id;
    row->key = key->number;
    row->key_size = (u32)key->size;
    row->record_size = size;
    row->had_record = cursor != NULL;
    if (key->size > 0) memcpy(row->bytes, key->bytes, key->size);
    if (cursor != NULL) {
        rc = sqlite3BtreePayload(cursor, 0, size, row->bytes + key->size);
        if (rc != SQLITE_OK) return rc;
    }
    table->rows[table->count++] = row;
    *slot = (u32)table->count;
    return SQLITE_OK;
}

/* The record that a cursor is at. It is valid until the cursor moves, or another record is read. */
static int sqlcipherkit_record_at(sqlcipherkit_recorder *recorder, BtCursor *cursor, const unsigned char **record, u32 *size) {
    u32 here;
    *size = sqlite3BtreePayloadSize(cursor);
    *record = sqlite3BtreePayloadFetch(cursor, &here);
    if (here >= *size) return SQLITE_OK;
    recorder->record.count = 0;
    if (!sqlcipherkit_make_room(&recorder->record, (size_t)*size + 16)) return SQLITE_NOMEM;
    *record = recorder->record.bytes;
    return sqlite3BtreePayload(cursor, 0, *size, recorder->record.bytes);
}

/* The key of a row that is about to be written. */
static int sqlcipherkit_new_key(sqlcipherkit_recorder *recorder, const sqlcipherkit_row_form *form,
                                sqlcipherkit_recorded_key *key) {
    for (int i = 0; i < form->count; i++) {
        if (!form->is_key[i]) continue;
        sqlite3_value *value;
        int rc = sqlcipherkit_new_value(recorder->db, form->places[i], &value);
        if (rc == SQLITE_OK) rc = sqlcipherkit_write_zeros(value);
        if (rc != SQLITE_OK) return rc;
        recorder->values[i] = sqlcipherkit_value_of(value, form->is_real[i]);
    }
    return sqlcipherkit_key_of(form, recorder->values, &recorder->other_key, key);
}

/* Returns whether the rows recorded of a table stay true of a later form of it. The later form may lack columns only if a savepoint
 * has undone adding them: then the schema has an earlier version again. */
static int sqlcipherkit_goes_on(const sqlcipherkit_row_form *old, const sqlcipherkit_row_form *form) {
    const int is_less = form->count < old->count;
    if (is_less && form->cookie >= old->cookie) return 0;
    for (int i = 0; i < form->count; i++) {
        if (form->is_key[i] != (i < old->count && old->is_key[i])) return 0;
        if (is_less && form->names[i] != old->names[i]) return 0;
    }
    return 1;
}

/* The recorded table that is about to change; NULL for another one. */
static sqlcipherkit_recorded_table *sqlcipherkit_changing_table(sqlcipherkit_recorder *recorder, Table *table) {
    sqlcipherkit_recorded_table *found = recorder->last;
    if (found != NULL && sqlcipherkit_is_form_of(found->form, table)) return found;
    found = NULL;
    for (int i = 0; i < recorder->table_count && found == NULL; i++) {
        if (sqlite3_stricmp(recorder->tables[i].name, table->zName) == 0) found = &recorder->tables[i];
    }
    if (found == NULL) return NULL;
    if (found->form == NULL || !sqlcipherkit_is_form_of(found->form, table)) {
        sqlcipherkit_row_form *form = sqlcipherkit_make_form(recorder->db, table);
        if (form == NULL) {
            recorder->rc = SQLITE_NOMEM;
            return NULL;
        }
        if (found->form != NULL && !sqlcipherkit_goes_on(found->form, form)) recorder->rc = SQLITE_SCHEMA;
        form->older = found->form;
        found->form = form;
        int rc = sqlcipherkit_make_values(recorder, form->count);
        if (recorder->rc == SQLITE_OK) recorder->rc = rc;
        if (recorder->rc != SQLITE_OK) return NULL;
    }
    return recorder->last = found;
}

/* Called by the hook, before a row changes. */
static void sqlcipherkit_record_change(sqlcipherkit_recorder *recorder, sqlite3 *db, int operation, sqlite3_int64 old_key,
                                       sqlite3_int64 new_key) {
    const PreUpdate *change = db->pPreUpdate;
    if (recorder->rc != SQLITE_OK || change->pTab->pSchema != db->aDb[0].pSchema) return;
    sqlcipherkit_recorded_table *table = sqlcipherkit_changing_table(recorder, change->pTab);
    if (table == NULL) return;
    const sqlcipherkit_row_form *form = table->form;
    BtCursor *cursor = change->pCsr->uc.pCursor;
    sqlcipherkit_recorded_key key;
    if (form->row_id >= 0) {
        int rc = SQLITE_OK;
        if (operation != SQLITE_INSERT) {
            key = sqlcipherkit_integer_key(old_key);
            rc = sqlcipherkit_touch(recorder, table, &key, old_key, cursor);
        }
        if (rc == SQLITE_OK && (operation == SQLITE_INSERT || (operation == SQLITE_UPDATE && old_key != new_key))) {
            key = sqlcipherkit_integer_key(new_key);
            rc = sqlcipherkit_touch(recorder, table, &key, new_key, NULL);
        }
        recorder->rc = rc;
        return;
    }
    int rc = SQLITE_OK;
    if (operation != SQLITE_INSERT) {
        const unsigned char *record;
        u32 size;
        rc = sqlcipherkit_record_at(recorder, cursor, &record, &size);
        if (rc == SQLITE_OK) rc = sqlcipherkit_read_record(form, record, size, old_key, recorder->values);
        if (rc == SQLITE_OK) rc = sqlcipherkit_key_of(form, recorder->values, &recorder->key, &key);
        if (rc == SQLITE_OK) rc = sqlcipherkit_touch(recorder, table, &key, old_key, cursor);
    }
    if (rc == SQLITE_OK && operation != SQLITE_DELETE) {
        rc = sqlcipherkit_new_key(recorder, form, &key);
        if (rc == SQLITE_OK) rc = sqlcipherkit_touch(recorder, table, &key, new_key, NULL);
    }
    recorder->rc = rc;
}

static void sqlcipherkit_tell_recorders(sqlcipherkit_recorder *first, sqlite3 *db, int operation, sqlite3_int64 old_key,
                                        sqlite3_int64 new_key) {
    for (; first != NULL; first = first->next) sqlcipherkit_record_change(first, db, operation, old_key, new_key);
}

static void sqlcipherkit_note_recorded_roots(const sqlcipherkit_recorder *first, Pgno *roots, int *count, int limit) {
    for (; first != NULL; first = first->next) {
        for (int i = 0; i < first->table_count; i++) {
            sqlcipherkit_note_root(sqlite3FindTable(first->db, first->tables[i].name, "main"), roots, count, limit);
        }
    }
}

/* --- Beginning and end --------------------------------------------------------------------------------------------- */

sqlcipherkit_recorder *sqlcipherkit_start_recorder(sqlite3 *db) {
    sqlcipherkit_guard *guard = sqlcipherkit_guard_of(db);
    sqlcipherkit_recorder *recorder = guard == NULL ? NULL : sqlite3_malloc64(sizeof *recorder);
    if (recorder == NULL) return NULL;
    memset(recorder, 0, sizeof *recorder);
    recorder->db = db;
    recorder->next = guard->recorders;
    guard->recorders = recorder;
    sqlcipherkit_install_hook(db);
    return recorder;
}

static void sqlcipherkit_free_recorder(sqlcipherkit_recorder *recorder) {
    for (int i = 0; i < recorder->table_count; i++) {
        sqlcipherkit_recorded_table *table = &recorder->tables[i];
        for (sqlcipherkit_row_form *form = table->form, *older; form != NULL; form = older) {
            older = form->older;
            sqlcipherkit_free_form(form);
        }
        sqlite3_free(table->name);
        sqlite3_free(table->rows);
        sqlite3_free(table->slots);
    }
    for (sqlcipherkit_memory_block *block = recorder->memory, *next; block != NULL; block = next) {
        next = block->next;
        sqlite3_free(block);
    }
    sqlcipherkit_byte_list *lists[] = {&recorder->key,      &recorder->other_key,   &recorder->record,   &recorder->out_values,
                                       &recorder->out_keys, &recorder->out_changes, &recorder->out_forms};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) sqlite3_free(lists[i]->bytes);
    sqlite3_free(recorder->values);
    sqlite3_free(recorder->tables);
    sqlite3_free(recorder);
}

void sqlcipherkit_end_recorder(sqlcipherkit_recorder *recorder) {
    sqlite3 *db = recorder->db;
    sqlcipherkit_guard *guard = sqlcipherkit_guard_of(db);
    for (sqlcipherkit_recorder **each = &guard->recorders; *each != NULL; each = &(*each)->next) {
        if (*each != recorder) continue;
        *each = recorder->next;
        break;
    }
    sqlcipherkit_free_recorder(recorder);
    sqlcipherkit_install_hook(db);
}

int sqlcipherkit_record_table(sqlcipherkit_recorder *recorder, const char *table) {
    const size_t count = (size_t)recorder->table_count + 1;
    sqlcipherkit_recorded_table *tables = sqlite3_realloc64(recorder->tables, count * sizeof *tables);
    if (tables == NULL) return SQLITE_NOMEM;
    recorder->tables = tables;
    recorder->last = NULL;
    char *name = sqlite3_mprintf("%s", table);
    if (name == NULL) return SQLITE_NOMEM;
    memset(&tables[count - 1], 0, sizeof *tables);
    tables[count - 1].name = name;
    recorder->table_count++;
    return SQLITE_OK;
}

int sqlcipherkit_has_recorded(const sqlcipherkit_recorder *recorder, int table) {
    /* An error is for the first reading, whatever was noted before it. */
    return recorder->rc != SQLITE_OK || recorder->tables[table].count > 0;
}
