/* The changes to the rows that a recorder has noted, in the forms of a change log. Only engine.c includes this, after
 * recorder.h. */

/* --- Values, as ChangeLogWriter writes them ------------------------------------------------------------------------ */

/* There is room for it. */
static void sqlcipherkit_put_number(sqlcipherkit_byte_list *list, u64 number) {
    while (number >= 0x80) {
        list->bytes[list->count++] = (unsigned char)(number | 0x80);
        number >>= 7;
    }
    list->bytes[list->count++] = (unsigned char)number;
}

/* A UUID in letters of one case, in 16 bytes. Returns whether it is one. */
static int sqlcipherkit_put_uuid(sqlcipherkit_byte_list *list, const unsigned char *text) {
    unsigned char bytes[16] = {0};
    int digits = 0, has_small = 0, has_capital = 0;
    for (int i = 0; i < 36; i++) {
        const unsigned char byte = text[i];
        const int is_dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (is_dash || byte == '-') {
            if (!is_dash || byte != '-') return 0;
            continue;
        }
        int digit;
        if (byte >= '0' && byte <= '9') {
            digit = byte - '0';
        } else if (byte >= 'a' && byte <= 'f') {
            digit = byte - 'a' + 10;
            has_small = 1;
        } else if (byte >= 'A' && byte <= 'F') {
            digit = byte - 'A' + 10;
            has_capital = 1;
        } else {
            return 0;
        }
        bytes[digits >> 1] = (unsigned char)(bytes[digits >> 1] << 4 | digit);
        digits++;
    }
    if (has_small && has_capital) return 0;
    sqlcipherkit_put_number(list, has_capital ? 16 : 12);
    memcpy(list->bytes + list->count, bytes, sizeof bytes);
    list->count += sizeof bytes;
    return 1;
}

static int sqlcipherkit_is_utf8(const unsigned char *text, size_t size) {
    size_t i = 0;
    for (; i + 8 <= size; i += 8) {
        u64 word;
        memcpy(&word, text + i, sizeof word);
        if ((word & 0x8080808080808080u) != 0) break;
    }
    while (i < size) {
        const unsigned char byte = text[i];
        const int more = byte < 0x80                    ? 0
                         : byte >= 0xc2 && byte < 0xe0  ? 1
                         : byte >= 0xe0 && byte < 0xf0  ? 2
                         : byte >= 0xf0 && byte <= 0xf4 ? 3
                                                        : -1;
        if (more < 0 || size - i <= (size_t)more) return 0;
        for (int j = 1; j <= more; j++) {
            if ((text[i + (size_t)j] & 0xc0) != 0x80) return 0;
        }
        /* Neither longer than need be, nor half of a pair, nor beyond the last character. */
        if (more >= 2) {
            const unsigned char next = text[i + 1];
            if ((byte == 0xe0 && next < 0xa0) || (byte == 0xed && next >= 0xa0) || (byte == 0xf0 && next < 0x90) ||
                (byte == 0xf4 && next >= 0x90)) {
                return 0;
            }
        }
        i += (size_t)more + 1;
    }
    return 1;
}

static int sqlcipherkit_put_text(sqlcipherkit_byte_list *list, const unsigned char *text, size_t size) {
    if (!sqlcipherkit_is_utf8(text, size)) return SQLITE_MISMATCH;
    if (!sqlcipherkit_make_room(list, size + 20)) return SQLITE_NOMEM;
    if (size == 36 && sqlcipherkit_put_uuid(list, text)) return SQLITE_OK;
    sqlcipherkit_put_number(list, (u64)size << 2 | 2);
    if (size > 0) memcpy(list->bytes + list->count, text, size);
    list->count += size;
    return SQLITE_OK;
}

/* The text of a value in UTF-8.
 * other: owns it, if the database has another encoding. */
static int sqlcipherkit_utf8_of(sqlite3 *db, const sqlcipherkit_row_value *value, sqlite3_value **other, const unsigned char **text,
                                size_t *size) {
    *text = value->as.bytes;
    *size = (size_t)value->size;
    if (ENC(db) == SQLITE_UTF8) return SQLITE_OK;
    *other = sqlite3ValueNew(db);
    if (*other == NULL) return SQLITE_NOMEM;
    sqlite3ValueSetStr(*other, value->size, value->as.bytes, ENC(db), SQLITE_TRANSIENT);
    *text = sqlite3ValueText(*other, SQLITE_UTF8);
    if (*text == NULL) return SQLITE_NOMEM;
    *size = (size_t)sqlite3ValueBytes(*other, SQLITE_UTF8);
    return SQLITE_OK;
}

static u64 sqlcipherkit_zigzag(sqlite3_int64 number) { return ((u64)number << 1) ^ (u64)(number >> 63); }

static int sqlcipherkit_put_value(sqlite3 *db, sqlcipherkit_byte_list *list, const sqlcipherkit_row_value *value) {
    if (!sqlcipherkit_make_room(list, 24)) return SQLITE_NOMEM;
    switch (value->type) {
    case SQLITE_INTEGER: {
        const u64 bits = sqlcipherkit_zigzag(value->as.integer);
        if (bits >> 62 == 0) {
            sqlcipherkit_put_number(list, bits << 2 | 1);
        } else {
            sqlcipherkit_put_number(list, 8);
            sqlcipherkit_put_number(list, bits);
        }
        return SQLITE_OK;
    }
    case SQLITE_FLOAT: {
        sqlcipherkit_put_number(list, 4);
        const u64 bits = (u64)value->as.integer;
        for (int i = 0; i < 8; i++) list->bytes[list->count++] = (unsigned char)(bits >> 8 * i);
        return SQLITE_OK;
    }
    case SQLITE_TEXT: {
        const unsigned char *text;
        size_t size;
        sqlite3_value *other = NULL;
        int rc = sqlcipherkit_utf8_of(db, value, &other, &text, &size);
        if (rc == SQLITE_OK) rc = sqlcipherkit_put_text(list, text, size);
        sqlite3ValueFree(other);
        return rc;
    }
    case SQLITE_BLOB: {
        const size_t size = (size_t)value->size;
        if (!sqlcipherkit_make_room(list, size + 10)) return SQLITE_NOMEM;
        sqlcipherkit_put_number(list, (u64)size << 2 | 3);
        if (size > 0) memcpy(list->bytes + list->count, value->as.bytes, size);
        list->count += size;
        return SQLITE_OK;
    }
    default: sqlcipherkit_put_number(list, 0); return SQLITE_OK;
    }
}

/* A value of a key in the form that all its spellings have (RowKey.canonical). */
static int sqlcipherkit_put_canonical(sqlite3 *db, sqlcipherkit_byte_list *list, const sqlcipherkit_row_value *value, int folds) {
    if (!sqlcipherkit_make_room(list, 24)) return SQLITE_NOMEM;
    sqlcipherkit_row_value whole = *value;
    if (value->type == SQLITE_FLOAT && value->as.real >= -9223372036854775808.0 && value->as.real < 9223372036854775808.0 &&
        (double)(sqlite3_int64)value->as.real == value->as.real) {
        whole.type = SQLITE_INTEGER;
        whole.as.integer = (sqlite3_int64)value->as.real;
    }
    if (whole.type == SQLITE_INTEGER) {
        const sqlite3_int64 number = whole.as.integer;
        const u64 size = (u64)(number < 0 ? ~number : number);
        const int count = size == 0 ? 0 : (71 - __builtin_clzll(size)) / 8;
        sqlcipherkit_put_number(list, (u64)(number < 0 ? 23 - count : 24 + count));
        for (int i = count - 1; i >= 0; i--) list->bytes[list->count++] = (unsigned char)((u64)number >> 8 * i);
        return SQLITE_OK;
    }
    sqlcipherkit_put_number(list, 40);
    if (whole.type != SQLITE_TEXT || folds == sqlcipherkit_binary) return sqlcipherkit_put_value(db, list, &whole);
    const unsigned char *text;
    unsigned char *folded = NULL;
    size_t size;
    sqlite3_value *other = NULL;
    int rc = sqlcipherkit_utf8_of(db, value, &other, &text, &size);
    if (rc == SQLITE_OK && folds == sqlcipherkit_rtrim) {
        while (size > 0 && text[size - 1] == ' ') size--;
    } else if (rc == SQLITE_OK) {
        folded = sqlite3_malloc64(size + 1);
        if (folded == NULL) rc = SQLITE_NOMEM;
        /* NOCASE folds ASCII letters. After a NUL it compares nothing but the lengths. */
        int is_over = 0;
        for (size_t i = 0; rc == SQLITE_OK && i < size; i++) {
            is_over = is_over || text[i] == 0;
            folded[i] = is_over ? 0 : text[i] >= 'A' && text[i] <= 'Z' ? text[i] | 0x20 : text[i];
        }
        text = folded;
    }
    if (rc == SQLITE_OK) rc = sqlcipherkit_put_text(list, text, size);
    sqlite3_free(folded);
    sqlite3ValueFree(other);
    return rc;
}

/* --- The rows that are there in the end ------------------------------------------------------------------------------ */

typedef struct {
    sqlcipherkit_recorder *recorder;
    sqlcipherkit_recorded_table *table;
    int number;
    sqlite3_uint64 key_number;
    int is_whole;
    /* As the table is now. */
    sqlcipherkit_row_form *form;
    BtCursor *cursor;
    /* Finds rows that are not where they were put last; NULL until one is looked for. */
    sqlite3_stmt *statement;
    /* The record of the row that was found, if its cursor has one. */
    const unsigned char *record;
    u32 record_size;
} sqlcipherkit_reading;

/* Looks for a row by its key: its values, in those of the recorder. Like a session, only in this spelling. */
static int sqlcipherkit_find_by_key(sqlcipherkit_reading *reading, const sqlcipherkit_touched_row *row, int *is_there) {
    sqlite3 *db = reading->recorder->db;
    const sqlcipherkit_row_form *form = reading->form;
    int rc = SQLITE_OK;
    if (reading->statement == NULL) {
        const Table *table = form->table;
        const char **names = sqlite3_malloc64((size_t)form->count * sizeof *names);
        if (names == NULL) return SQLITE_NOMEM;
        for (int i = 0; i < form->count; i++) names[i] = table->aCol[form->places[i]].zCnName;
        rc = sessionSelectStmt(db, 0, "main", table->zName, 0, form->count, names, form->is_key, &reading->statement, NULL);
        sqlite3_free(names);
        if (rc != SQLITE_OK) return rc;
    }
    const unsigned char *bytes = row->bytes;
    for (int i = 0; i < form->count && rc == SQLITE_OK; i++) {
        if (!form->is_key[i]) continue;
        if (row->key_size == 0) {
            rc = sqlite3_bind_int64(reading->statement, i + 1, row->key);
            continue;
        }
        sqlcipherkit_row_value value = {bytes[0], 0, {0}};
        memcpy(&value.as.integer, bytes + 1, sizeof value.as.integer);
        bytes += 9;
        switch (value.type) {
        case SQLITE_INTEGER: rc = sqlite3_bind_int64(reading->statement, i + 1, value.as.integer); break;
        case SQLITE_FLOAT: rc = sqlite3_bind_double(reading->statement, i + 1, value.as.real); break;
        default: {
            const sqlite3_uint64 size = (sqlite3_uint64)value.as.integer;
            rc = value.type == SQLITE_BLOB
                     ? sqlite3_bind_blob64(reading->statement, i + 1, bytes, size, SQLITE_TRANSIENT)
                     : sqlite3_bind_text64(reading->statement, i + 1, (const char *)bytes, size, SQLITE_TRANSIENT, ENC(db));
            bytes += size;
        }
        }
    }
    if (rc != SQLITE_OK) return rc;
    rc = sqlite3_step(reading->statement);
    if (rc == SQLITE_DONE) return sqlite3_reset(reading->statement);
    if (rc != SQLITE_ROW) return rc;
    *is_there = 1;
    for (int i = 0; i < form->count && rc == SQLITE_ROW; i++) {
        Mem *column = sqlcipherkit_column(reading->statement, i);
        if (column == NULL) return SQLITE_ERROR;
        if (sqlcipherkit_write_zeros(column) != SQLITE_OK) return SQLITE_NOMEM;
        reading->recorder->values[i] = sqlcipherkit_value_of(column, form->is_real[i]);
    }
    return SQLITE_OK;
}

/* Looks for a row. Its values are valid until the next one is looked for. */
static int sqlcipherkit_find_row(sqlcipherkit_reading *reading, const sqlcipherkit_touched_row *row, int *is_there) {
    const sqlcipherkit_row_form *form = reading->form;
    *is_there = 0;
    reading->record = NULL;
    if (reading->statement != NULL) sqlite3_reset(reading->statement);
    if (reading->cursor != NULL && (form->row_id < 0 || row->key_size == 0)) {
        const sqlite3_int64 row_id = form->row_id >= 0 ? row->key : row->row_id;
        int result = -1;
        int rc = sqlite3BtreeTableMoveto(reading->cursor, row_id, 0, &result);
        if (rc != SQLITE_OK) return rc;
        if (result != 0 && form->row_id >= 0) return SQLITE_OK;
        if (result == 0) {
            rc = sqlcipherkit_record_at(reading->recorder, reading->cursor, &reading->record, &reading->record_size);
            if (rc == SQLITE_OK && row->had_record && row->form == form && row->record_size == reading->record_size &&
                memcmp(row->bytes + row->key_size, reading->record, row->record_size) == 0) {
                /* Nothing has changed. */
                *is_there = 2;
                return SQLITE_OK;
            }
            if (rc == SQLITE_OK) {
                rc = sqlcipherkit_read_record(form, reading->record, reading->record_size, row_id, reading->recorder->values);
            }
            if (rc != SQLITE_OK) return rc;
            *is_there = 1;
            if (form->row_id >= 0) return SQLITE_OK;
            sqlcipherkit_recorded_key key;
            rc = sqlcipherkit_key_of(form, reading->recorder->values, &reading->recorder->key, &key);
            if (rc == SQLITE_OK && sqlcipherkit_has_key(row, &key)) return SQLITE_OK;
            if (rc != SQLITE_OK && rc != SQLITE_CONSTRAINT) return rc;
            /* Another row has taken its place. */
            *is_there = 0;
        }
    }
    return sqlcipherkit_find_by_key(reading, row, is_there);
}

/* The values that a row had. Columns that were added since have their defaults. */
static int sqlcipherkit_read_old(sqlcipherkit_reading *reading, const sqlcipherkit_touched_row *row) {
    sqlcipherkit_row_value *values = reading->recorder->old_values;
    const sqlcipherkit_row_form *form = row->form;
    int rc = sqlcipherkit_read_record(form, row->bytes + row->key_size, row->record_size,
                                      form->row_id >= 0 ? row->key : row->row_id, values);
    for (int i = form->count; i < reading->form->count; i++) values[i] = sqlcipherkit_default(reading->form, i);
    return rc;
}

/* --- The recording --------------------------------------------------------------------------------------------------- */

/* The number of a form, which is added if it is not there. */
static int sqlcipherkit_form_number(sqlcipherkit_reading *reading, int kind, size_t *number) {
    sqlcipherkit_recorder *recorder = reading->recorder;
    const u64 *mask = recorder->mask;
    const sqlcipherkit_row_form *form = reading->form;
    int count = 0;
    for (int i = 0; i < form->count; i++) count += (mask[i / 64] >> (i % 64)) & 1;
    sqlcipherkit_recorded_form *forms = (sqlcipherkit_recorded_form *)(void *)recorder->out_forms.bytes;
    /* Beyond some, they are added again: that costs less than looking for them. */
    const size_t least = recorder->form_count > 32 ? recorder->form_count - 32 : 0;
    for (size_t n = recorder->form_count; n-- > least;) {
        if (forms[n].table != reading->number) break;
        if (forms[n].kind != kind || forms[n].column_count != count) continue;
        int is_same = 1;
        for (int i = 0; i < count && is_same; i++) is_same = (mask[forms[n].columns[i] / 64] >> (forms[n].columns[i] % 64)) & 1;
        if (!is_same) continue;
        *number = n;
        return SQLITE_OK;
    }
    int *columns = sqlcipherkit_recorder_memory(recorder, (size_t)count * sizeof *columns + 1);
    if (columns == NULL || !sqlcipherkit_make_room(&recorder->out_forms, sizeof *forms)) return SQLITE_NOMEM;
    int at = 0;
    for (int i = 0; i < form->count; i++) {
        if (((mask[i / 64] >> (i % 64)) & 1) != 0) columns[at++] = i;
    }
    const sqlcipherkit_recorded_form added = {kind, reading->number, count, columns};
    memcpy(recorder->out_forms.bytes + recorder->out_forms.count, &added, sizeof added);
    recorder->out_forms.count += sizeof added;
    *number = recorder->form_count++;
    return SQLITE_OK;
}

/* Adds a change. The columns are those of the mask. */
static int sqlcipherkit_add_change(sqlcipherkit_reading *reading, int kind, const sqlcipherkit_row_value *values) {
    sqlcipherkit_recorder *recorder = reading->recorder;
    sqlite3 *db = recorder->db;
    const sqlcipherkit_row_form *form = reading->form;
    sqlcipherkit_byte_list *out = &recorder->out_values, *keys = &recorder->out_keys;
    sqlcipherkit_recorded_change change;
    int rc = sqlcipherkit_form_number(reading, kind, &change.form);
    if (rc == SQLITE_OK && !sqlcipherkit_make_room(keys, 10)) rc = SQLITE_NOMEM;
    if (rc != SQLITE_OK) return rc;
    sqlcipherkit_put_number(keys, reading->key_number);
    for (int i = 0; i < form->count && rc == SQLITE_OK; i++) {
        if (!form->is_key[i]) continue;
        rc = sqlcipherkit_put_value(db, out, &values[i]);
        if (rc == SQLITE_OK) rc = sqlcipherkit_put_canonical(db, keys, &values[i], form->folds[i]);
    }
    const sqlcipherkit_recorded_form *written = (const sqlcipherkit_recorded_form *)(void *)recorder->out_forms.bytes + change.form;
    for (int i = 0; i < written->column_count && rc == SQLITE_OK; i++) {
        rc = sqlcipherkit_put_value(db, out, &values[written->columns[i]]);
    }
    if (rc == SQLITE_OK && !sqlcipherkit_make_room(&recorder->out_changes, sizeof change)) rc = SQLITE_NOMEM;
    if (rc != SQLITE_OK) return rc;
    change.values_end = out->count;
    change.key_end = keys->count;
    memcpy(recorder->out_changes.bytes + recorder->out_changes.count, &change, sizeof change);
    recorder->out_changes.count += sizeof change;
    recorder->change_count++;
    return SQLITE_OK;
}

/* Adds what has become of a row.
 * inserts: whether rows are added that were not there, or all others. */
static int sqlcipherkit_read_row(sqlcipherkit_reading *reading, const sqlcipherkit_touched_row *row, int inserts) {
    sqlcipherkit_recorder *recorder = reading->recorder;
    const sqlcipherkit_row_form *form = reading->form;
    if (row->had_record == inserts) return SQLITE_OK;
    int is_there;
    int rc = sqlcipherkit_find_row(reading, row, &is_there);
    if (rc != SQLITE_OK || is_there == 2 || (!is_there && inserts)) return rc;
    u64 *mask = recorder->mask;
    memset(mask, 0, ((size_t)form->count / 64 + 1) * sizeof *mask);
    if (!inserts) {
        rc = sqlcipherkit_read_old(reading, row);
        if (rc != SQLITE_OK) return rc;
        if (!is_there) return sqlcipherkit_add_change(reading, SQLITE_DELETE, recorder->old_values);
    }
    int has_changed = inserts;
    for (int i = 0; i < form->count; i++) {
        if (form->is_key[i]) continue;
        const int changed = inserts || !sqlcipherkit_is_same_value(&recorder->old_values[i], &recorder->values[i]);
        has_changed = has_changed || changed;
        if (changed || reading->is_whole) mask[i / 64] |= (u64)1 << (i % 64);
    }
    if (!has_changed) return SQLITE_OK;
    return sqlcipherkit_add_change(reading, inserts ? SQLITE_INSERT : SQLITE_UPDATE, recorder->values);
}

int sqlcipherkit_read_recording(sqlcipherkit_recorder *recorder, int number, sqlite3_uint64 key_number, int is_whole) {
    if (recorder->rc != SQLITE_OK) return recorder->rc;
    sqlite3 *db = recorder->db;
    sqlcipherkit_recorded_table *table = &recorder->tables[number];
    /* A transaction that SQLite has rolled back has changed nothing. */
    if (table->count == 0 || sqlite3_get_autocommit(db)) return SQLITE_OK;
    sqlcipherkit_reading reading = {recorder, table, number, key_number, is_whole, NULL, NULL, NULL, NULL, 0};
    /* A savepoint that undoes a change of the schema forgets the schema. */
    if (!DbHasProperty(db, 0, DB_SchemaLoaded)) {
        int rc = sqlite3_exec(db, "SELECT 1 FROM main.sqlite_schema LIMIT 0", NULL, NULL, NULL);
        if (rc != SQLITE_OK) return rc;
    }
    Table *found = sqlite3FindTable(db, table->name, "main");
    if (found == NULL || IsVirtual(found) || IsView(found)) return SQLITE_SCHEMA;
    if (!sqlcipherkit_is_form_of(table->form, found)) {
        sqlcipherkit_row_form *form = sqlcipherkit_make_form(db, found);
        if (form == NULL) return SQLITE_NOMEM;
        const int goes_on = sqlcipherkit_goes_on(table->form, form);
        form->older = table->form;
        table->form = form;
        if (!goes_on) return recorder->rc = SQLITE_SCHEMA;
    }
    reading.form = table->form;
    int rc = sqlcipherkit_make_values(recorder, reading.form->count);
    Btree *btree = db->aDb[0].pBt;
    sqlite3BtreeEnter(btree);
    if (rc == SQLITE_OK && sqlite3_txn_state(db, "main") == SQLITE_TXN_NONE) rc = sqlite3BtreeBeginTrans(btree, 0, NULL);
    if (rc == SQLITE_OK && reading.form->has_row_id) {
        reading.cursor = sqlite3_malloc64(sizeof *reading.cursor);
        if (reading.cursor == NULL) {
            rc = SQLITE_NOMEM;
        } else {
            memset(reading.cursor, 0, sizeof *reading.cursor);
            rc = sqlite3BtreeCursor(btree, found->tnum, 0, NULL, reading.cursor);
        }
    }
    for (int inserts = 0; inserts < 2; inserts++) {
        for (size_t i = 0; i < table->count && rc == SQLITE_OK; i++) {
            rc = sqlcipherkit_read_row(&reading, table->rows[i], inserts);
        }
    }
    if (reading.cursor != NULL) sqlite3BtreeCloseCursor(reading.cursor);
    sqlite3BtreeLeave(btree);
    sqlite3_free(reading.cursor);
    sqlite3_finalize(reading.statement);
    return rc;
}

sqlcipherkit_recording sqlcipherkit_recording_of(const sqlcipherkit_recorder *recorder) {
    const sqlcipherkit_recording recording = {
        recorder->out_values.bytes,
        recorder->out_keys.bytes,
        (const sqlcipherkit_recorded_change *)(const void *)recorder->out_changes.bytes,
        recorder->change_count,
        (const sqlcipherkit_recorded_form *)(const void *)recorder->out_forms.bytes,
        recorder->form_count,
    };
    return recording;
}
