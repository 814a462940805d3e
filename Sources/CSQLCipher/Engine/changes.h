/* The functions that observing a database needs. Only engine.c includes this, after the amalgamation. */
#include "../include/changes.h"

static void sqlcipherkit_note_recorded_roots(const sqlcipherkit_recorder *first, Pgno *roots, int *count, int limit);
static void sqlcipherkit_tell_recorders(sqlcipherkit_recorder *first, sqlite3 *db, int operation, sqlite3_int64 old_key,
                                        sqlite3_int64 new_key);

/* Sessions expect their list as the argument, so the hook itself is stored elsewhere, in the connection's guard. */
static void sqlcipherkit_preupdate(void *sessions, sqlite3 *db, int operation, const char *schema, const char *table,
                                   sqlite3_int64 old_key, sqlite3_int64 new_key) {
    const sqlcipherkit_guard *guard = sqlcipherkit_guard_of(db);
    /* Before sessions, which convert text in place. */
    if (guard != NULL && guard->recorders != NULL) {
        sqlcipherkit_tell_recorders(guard->recorders, db, operation, old_key, new_key);
    }
    if (sessions != NULL) xPreUpdate(sessions, db, operation, schema, table, old_key, new_key);
    /* A connection that closes while statements are left has lost its guard. */
    if (guard == NULL) return;
    if (guard->changed != NULL) guard->changed(guard->changed_context, db, operation, schema, table, old_key != new_key);
}

/* Sets what calls the hook, the recorders and the sessions that are there. */
static void sqlcipherkit_install_hook(sqlite3 *db) {
    const sqlcipherkit_guard *guard = sqlcipherkit_guard_of(db);
    void *sessions = sqlite3_preupdate_hook(db, NULL, NULL);
    const int is_ours = guard != NULL && (guard->changed != NULL || guard->recorders != NULL || guard->is_logging);
    sqlite3_preupdate_hook(db, is_ours ? sqlcipherkit_preupdate : sessions != NULL ? xPreUpdate : NULL, sessions);
}

void sqlcipherkit_set_change_hook(sqlite3 *db, sqlcipherkit_change_callback callback, void *context) {
    sqlcipherkit_guard *guard = sqlcipherkit_guard_of(db);
    guard->changed = callback;
    guard->changed_context = context;
    sqlcipherkit_install_hook(db);
}

static int sqlcipherkit_is_same(sqlite3_value *a, sqlite3_value *b) {
    int type = sqlite3_value_type(a);
    if (type != sqlite3_value_type(b)) return 0;
    switch (type) {
    case SQLITE_NULL: return 1;
    case SQLITE_INTEGER: return sqlite3_value_int64(a) == sqlite3_value_int64(b);
    case SQLITE_FLOAT: return sqlite3_value_double(a) == sqlite3_value_double(b);
    default: {
        const void *first = sqlite3_value_blob(a), *second = sqlite3_value_blob(b);
        int count = sqlite3_value_bytes(a);
        if (count != sqlite3_value_bytes(b)) return 0;
        return count == 0 || (first != NULL && second != NULL && memcmp(first, second, (size_t)count) == 0);
    }
    }
}

/* sqlite3_preupdate_new, but a whole number in a REAL column is a REAL, as it is for sqlite3_preupdate_old and for every query.
 * The record that is about to be inserted has it as an INTEGER, so that a session took an insert and a delete of one row for those
 * of two. SQLite 3.54 does the same. */
static int sqlcipherkit_new_value(void *context, int column, sqlite3_value **value) {
    sqlite3 *db = context;
    int rc = sqlite3_preupdate_new(db, column, value);
    const Table *table = db->pPreUpdate == NULL ? NULL : db->pPreUpdate->pTab;
    if (rc == SQLITE_OK && table != NULL && column < table->nCol && table->aCol[column].affinity == SQLITE_AFF_REAL &&
        sqlite3_value_type(*value) == SQLITE_INTEGER) {
        sqlite3VdbeMemRealify(*value);
    }
    return rc;
}

/* A session leaves out rows with NULL in their key, and compares keys by their bytes, whatever a collation of the caller says. Here
 * it fails instead, and every later changeset of it does. */
static int sqlcipherkit_known_value(sqlite3 *db, int column, sqlite3_value *value, int rc) {
    const Table *table = db->pPreUpdate == NULL ? NULL : db->pPreUpdate->pTab;
    if (rc != SQLITE_OK || table == NULL || column >= table->nCol) return rc;
    Column *key = &table->aCol[column];
    if ((key->colFlags & COLFLAG_PRIMKEY) == 0) return rc;
    const char *collation = sqlite3ColumnColl(key);
    int is_known = collation == NULL || sqlite3_stricmp(collation, "BINARY") == 0 || sqlite3_stricmp(collation, "NOCASE") == 0 ||
                   sqlite3_stricmp(collation, "RTRIM") == 0;
    return is_known && sqlite3_value_type(value) != SQLITE_NULL ? rc : SQLITE_CONSTRAINT;
}

static int sqlcipherkit_recorded_new(void *context, int column, sqlite3_value **value) {
    int rc = sqlcipherkit_new_value(context, column, value);
    return sqlcipherkit_known_value(context, column, *value, rc);
}

static int sqlcipherkit_recorded_old(void *context, int column, sqlite3_value **value) {
    int rc = sqlite3_preupdate_old(context, column, value);
    return sqlcipherkit_known_value(context, column, *value, rc);
}

int sqlcipherkit_create_session(sqlite3 *db, const char *schema, sqlite3_session **session) {
    int rc = sqlite3session_create(db, schema, session);
    /* sqlite3session_create has set its own hook in place of ours. */
    sqlcipherkit_install_hook(db);
    if (rc != SQLITE_OK) return rc;
    (*session)->hook.xNew = sqlcipherkit_recorded_new;
    (*session)->hook.xOld = sqlcipherkit_recorded_old;
    return rc;
}

void sqlcipherkit_delete_session(sqlite3_session *session) {
    sqlite3 *db = session->db;
    sqlite3session_delete(session);
    sqlcipherkit_install_hook(db);
}

/* Reads a row that a session has seen change. It knows a row by the bytes of its key, and upstream's statement finds one whose key
 * the table takes for the same: of `a` that became `A` under NOCASE, only the insert was left. */
static int sessionSelectStmt(sqlite3 *db, int ignores, const char *schema, const char *table, int by_row_id, int count,
                             const char **names, u8 *is_key, sqlite3_stmt **statement, char **message) {
    int rc = upstream_sessionSelectStmt(db, ignores, schema, table, by_row_id, count, names, is_key, statement, message);
    if (rc != SQLITE_OK || sqlite3_stricmp(table, "sqlite_stat1") == 0) return rc;
    const Table *found = sqlite3FindTable(db, table, schema);
    /* A row id has one spelling. */
    if (found != NULL && found->iPKey >= 0) return rc;
    sqlite3_str *sql = sqlite3_str_new(db);
    sqlite3_str_appendall(sql, sqlite3_sql(*statement));
    for (int i = 0; i < count; i++) {
        if (is_key[i] == 0) continue;
        sqlite3_str_appendf(sql, " AND \"%w\" COLLATE BINARY IS ?%d", names[i], i + 1);
        sqlite3_str_appendf(sql, " AND typeof(\"%w\") = typeof(?%d)", names[i], i + 1);
    }
    char *text = sqlite3_str_finish(sql);
    if (text == NULL) return SQLITE_NOMEM;
    sqlite3_finalize(*statement);
    *statement = NULL;
    rc = sqlite3_prepare_v2(db, text, -1, statement, NULL);
    sqlite3_free(text);
    return rc;
}

int sqlcipherkit_key_column(sqlite3 *db, const char *schema, const char *table, int number, sqlcipherkit_key_form *key) {
    Table *found = sqlite3FindTable(db, table, schema);
    if (found == NULL || IsVirtual(found) || IsView(found)) return 0;
    const Index *index = sqlcipherkit_key_index(found);
    key->place = -1;
    for (int i = 0; i < found->nCol; i++) {
        Column *column = &found->aCol[i];
        if ((column->colFlags & COLFLAG_GENERATED) != 0) continue;
        key->place++;
        if ((column->colFlags & COLFLAG_PRIMKEY) == 0 || number-- > 0) continue;
        const char *own = sqlite3ColumnColl(column);
        key->name = column->zCnName;
        key->collation = own == NULL ? "BINARY" : own;
        key->affinity = column->affinity;
        key->is_row_id = i == found->iPKey;
        key->is_one = 1;
        for (int j = 0; index != NULL && j < index->nKeyCol; j++) {
            if (index->aiColumn[j] == i && sqlite3_stricmp(index->azColl[j], key->collation) != 0) key->is_one = 0;
        }
        return 1;
    }
    return 0;
}

sqlite3_uint64 sqlcipherkit_changed_columns(sqlite3 *db, sqlite3_uint64 candidates) {
    const sqlite3_uint64 rest = (sqlite3_uint64)1 << 63;
    int count = sqlite3_preupdate_count(db);
    if (count < 64) candidates &= ((sqlite3_uint64)1 << count) - 1;
    sqlite3_uint64 changed = candidates & rest;
    for (candidates &= ~rest; candidates != 0; candidates &= candidates - 1) {
        int column = __builtin_ctzll(candidates);
        sqlite3_value *before, *after;
        if (sqlite3_preupdate_old(db, column, &before) != SQLITE_OK || sqlcipherkit_new_value(db, column, &after) != SQLITE_OK ||
            !sqlcipherkit_is_same(before, after)) {
            changed |= (sqlite3_uint64)1 << column;
        }
    }
    return changed;
}

sqlcipherkit_table sqlcipherkit_find_table(sqlite3 *db, const char *schema, const char *table, const char *column) {
    sqlcipherkit_table result = {SQLCIPHERKIT_NO_TABLE, -1, NULL, NULL};
    Table *found = sqlite3FindTable(db, table, schema);
    if (found == NULL) return result;
    result.kind = IsVirtual(found) ? SQLCIPHERKIT_VIRTUAL_TABLE : IsView(found) ? SQLCIPHERKIT_VIEW : SQLCIPHERKIT_TABLE;
    result.name = found->zName;
    result.schema = sqlite3_db_name(db, sqlcipherkit_place_in(db, found->pSchema));
    for (int i = 0; column != NULL && i < found->nCol && result.column < 0; i++) {
        if (sqlite3_stricmp(found->aCol[i].zCnName, column) == 0) result.column = i;
    }
    return result;
}

/* The bit in the op of a resting trigger, which no statement looks for. */
#define SQLCIPHERKIT_RESTING 0x40
_Static_assert(((TK_INSERT | TK_UPDATE | TK_DELETE) & SQLCIPHERKIT_RESTING) == 0, "the events of triggers");

/* Returns whether a program writes to one of the b-trees that begin on these pages. */
static int sqlcipherkit_writes_to(const VdbeOp *operations, int count, int index, const Pgno *roots, int root_count) {
    for (int i = 0; i < count; i++) {
        const VdbeOp *operation = &operations[i];
        Pgno root = 0;
        if (operation->opcode == OP_OpenWrite && operation->p3 == index) root = (Pgno)operation->p2;
        if (operation->opcode == OP_Clear && operation->p2 == index) root = (Pgno)operation->p1;
        for (int j = 0; root != 0 && j < root_count; j++) {
            if (roots[j] == root) return 1;
        }
    }
    return 0;
}

/* A value of Vdbe.expired that no statement looks for: SQLite itself sets 0, 1 and 2. */
#define SQLCIPHERKIT_OTHER_TRIGGERS 3

/* Notes where a table begins, if it is not noted yet. Beyond the limit, only their number counts. */
static void sqlcipherkit_note_root(const Table *table, Pgno *roots, int *count, int limit) {
    int place = 0;
    while (table != NULL && place < *count && place < limit && roots[place] != table->tnum) place++;
    if (table == NULL || place < *count) return;
    if (*count < limit) roots[*count] = table->tnum;
    ++*count;
}

/* Only what writes to the tables of these triggers is compiled with them or without. A statement keeps the program that it has, and
 * is compiled again if it is run in the other state: most are used in one state only, which is then most of what a commit of one
 * row saves. So this changes two states for each other, however each statement was compiled. */
void sqlcipherkit_rest_triggers(sqlite3 *db, const char *schema, const char *prefix, int rest) {
    enum { most = 64 };
    Pgno roots[most];
    int count = 0;
    sqlite3_mutex_enter(db->mutex);
    sqlcipherkit_guard *guard = sqlcipherkit_guard_of(db);
    int index = sqlcipherkit_place_of(db, schema);
    if (index >= 0 && db->aDb[index].pSchema != NULL) {
        int length = (int)strlen(prefix);
        HashElem *each = sqliteHashFirst(&db->aDb[index].pSchema->trigHash);
        for (; each != NULL; each = sqliteHashNext(each)) {
            Trigger *trigger = sqliteHashData(each);
            if (sqlite3_strnicmp(trigger->zName, prefix, length) != 0) continue;
            trigger->op = (u8)(rest != 0 ? trigger->op | SQLCIPHERKIT_RESTING : trigger->op & ~SQLCIPHERKIT_RESTING);
            sqlcipherkit_note_root(sqlite3FindTable(db, trigger->table, db->aDb[index].zDbSName), roots, &count, most);
        }
    }
    if (guard != NULL) {
        /* Someone may have dropped the triggers. */
        sqlcipherkit_note_recorded_roots(guard->recorders, roots, &count, most);
        /* With a hook, nothing that is compiled deletes all rows at once without calling it. */
        guard->is_logging = rest != 0;
        sqlcipherkit_install_hook(db);
    }
    for (sqlite3_stmt *next = sqlite3_next_stmt(db, NULL); next != NULL; next = sqlite3_next_stmt(db, next)) {
        Vdbe *each = (Vdbe *)next;
        if (each->readOnly || (each->expired != 0 && each->expired != SQLCIPHERKIT_OTHER_TRIGGERS)) continue;
        int writes = count > most || sqlcipherkit_writes_to(each->aOp, each->nOp, index, roots, count);
        /* The triggers and the foreign keys of the statement. */
        for (SubProgram *program = each->pProgram; program != NULL && !writes; program = program->pNext) {
            writes = sqlcipherkit_writes_to(program->aOp, program->nOp, index, roots, count);
        }
        if (writes) each->expired ^= SQLCIPHERKIT_OTHER_TRIGGERS;
    }
    sqlite3_mutex_leave(db->mutex);
}

/* The columns of a table's key, each after a text. The result is to be freed; NULL without memory. */
static char *sqlcipherkit_key_list(const Table *table, const char *before) {
    sqlite3_str *keys = sqlite3_str_new(NULL);
    for (int i = 0; i < table->nCol; i++) {
        if ((table->aCol[i].colFlags & COLFLAG_PRIMKEY) != 0) sqlite3_str_appendf(keys, "%s\"%w\"", before, table->aCol[i].zCnName);
    }
    return sqlite3_str_finish(keys);
}

/* Notes the rows of a table that is about to be dropped as deleted, if a change log's triggers note its deletes: SQLite fires none
 * for them. */
static void sqlcipherkit_note_dropped_rows(Parse *parse, const char *name, const char *schema) {
    sqlite3 *db = parse->db;
    const Table *table = sqlite3FindTable(db, name, schema);
    if (parse->nested > 0 || parse->nErr > 0 || db->init.busy || parse->eParseMode != PARSE_MODE_NORMAL || table == NULL) return;
    char *target = NULL;
    for (const Trigger *trigger = table->pTrigger; trigger != NULL && target == NULL; trigger = trigger->pNext) {
        target = sqlcipherkit_noting_table(db, trigger, "_delete", schema);
    }
    if (target == NULL) return;
    char *keys = sqlcipherkit_key_list(table, ", ");
    if (keys == NULL) {
        sqlite3ErrorMsg(parse, "out of memory");
        parse->rc = SQLITE_NOMEM;
    } else {
        sqlite3NestedParse(parse, "INSERT INTO \"%w\".\"%w\" SELECT 2%s FROM \"%w\".\"%w\"", schema, target, keys, schema, name);
    }
    sqlite3_free(keys);
    sqlite3DbFree(db, target);
}

int sqlcipherkit_is_deferred(sqlite3 *db, const char *schema, const char *table, int foreign_key) {
    const Table *found = sqlite3FindTable(db, table, schema);
    if (found == NULL || IsVirtual(found) || IsView(found)) return 0;
    const FKey *key = found->u.tab.pFKey;
    while (key != NULL && foreign_key > 0) {
        key = key->pNextFrom;
        foreign_key--;
    }
    return key != NULL && key->isDeferred;
}

sqlite3_uint64 sqlcipherkit_schema_stamp(sqlite3 *db) {
    /* FNV-1a, over words instead of bytes. */
    sqlite3_uint64 stamp = 14695981039346656037u;
    for (int i = 0; i < db->nDb; i++) {
        if (db->aDb[i].pSchema == NULL) continue;
        /* A rollback leaves the cookie of what it has undone. */
        if (!DbHasProperty(db, i, DB_SchemaLoaded)) return 0;
        stamp = (stamp ^ (sqlite3_uint64)(i + 1)) * 1099511628211u;
        stamp = (stamp ^ (sqlite3_uint64)(unsigned int)db->aDb[i].pSchema->schema_cookie) * 1099511628211u;
    }
    return stamp;
}

int sqlcipherkit_log_position(sqlite3 *db, const char *schema, sqlite3_uint64 *log, unsigned int *frame) {
    Btree *btree = sqlcipherkit_btree(db, schema);
    if (btree == NULL) return 0;
    Pager *pager = sqlite3BtreePager(btree);
    if (pager->pWal == NULL) return 0;
    /* Both salts change when the log starts over. */
    memcpy(log, pager->pWal->hdr.aSalt, sizeof *log);
    *frame = pager->pWal->hdr.mxFrame;
    return 1;
}
