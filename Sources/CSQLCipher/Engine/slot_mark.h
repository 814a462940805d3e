/* Keeps the mark of the key slots out of SQL's reach. Only engine.c includes this, after guard.h. */
#include "../include/slot_mark.h"

static const char sqlcipherkit_mark_refusal[] = "CHANGE of " SQLCIPHERKIT_SLOT_MARK " is refused: KeySlots alone writes it";
static const char sqlcipherkit_schema_refusal[] =
    "CHANGE of sqlite_schema is refused: it says where the database keeps " SQLCIPHERKIT_SLOT_MARK ", which KeySlots alone writes";

int sqlcipherkit_is_slot_mark(const char *name) { return name != NULL && sqlite3_stricmp(name, SQLCIPHERKIT_SLOT_MARK) == 0; }

/* Returns whether a statement of this connection must not touch the table of that name. Reading a schema, which ALTER TABLE does
 * for all of its entries, and VACUUM, which copies all tables, may name it. */
static int sqlcipherkit_is_kept(Parse *parse, const char *name) {
    sqlite3 *db = parse->db;
    if (db->init.busy || parse->eParseMode != PARSE_MODE_NORMAL || (db->mDbFlags & DBFLAG_Vacuum) != 0) return 0;
    if (!sqlcipherkit_is_slot_mark(name)) return 0;
    const sqlcipherkit_guard *guard = sqlcipherkit_guard_of(db);
    return guard != NULL && guard->mark_writers == 0;
}

/* Refuses a statement of a caller, and no part of a CREATE, DROP or ALTER, that changes the schema's own table, as PRAGMA
 * writable_schema allows, of a database that has a mark: its row would lead to another table, or to none. */
static int sqlcipherkit_refuses_table(Parse *parse, const Table *table) {
    if (parse->nested > 0 || table->tnum != 1 || !sqlcipherkit_is_kept(parse, SQLCIPHERKIT_SLOT_MARK)) return 0;
    const int index = sqlcipherkit_place_in(parse->db, table->pSchema);
    /* VACUUM writes views and triggers into its copy. */
    if (sqlcipherkit_vacuumed.db == parse->db && index == sqlcipherkit_vacuumed.attached) return 0;
    if (sqlite3FindTable(parse->db, SQLCIPHERKIT_SLOT_MARK, parse->db->aDb[index].zDbSName) == NULL) return 0;
    sqlcipherkit_refuse(parse, sqlcipherkit_schema_refusal);
    return 1;
}

/* Replaces sqlite3AuthCheck, which is called for everything that a statement does, with or without an authorizer. */
SQLITE_PRIVATE int sqlite3AuthCheck(Parse *parse, int code, const char *first, const char *second, const char *third) {
    const int changes = code == SQLITE_INSERT || code == SQLITE_UPDATE || code == SQLITE_DELETE || code == SQLITE_DROP_TABLE;
    if ((changes && sqlcipherkit_is_kept(parse, first)) || (code == SQLITE_ALTER_TABLE && sqlcipherkit_is_kept(parse, second))) {
        sqlcipherkit_refuse(parse, sqlcipherkit_mark_refusal);
        return SQLITE_DENY;
    }
    if (sqlcipherkit_ask_attaching(parse, code) != SQLITE_OK) return SQLITE_DENY;
    const int rc = upstream_sqlite3AuthCheck(parse, code, first, second, third);
    if (rc == SQLITE_OK && code == SQLITE_DROP_TABLE) sqlcipherkit_note_dropped_rows(parse, first, third);
    return rc;
}

/* Replaces sqlite3CheckObjectName, which is called for each name that a statement creates, with the table of an index or a
 * trigger. */
SQLITE_PRIVATE int sqlite3CheckObjectName(Parse *parse, const char *name, const char *type, const char *table) {
    if (sqlcipherkit_is_kept(parse, name) || sqlcipherkit_is_kept(parse, table)) {
        sqlcipherkit_refuse(parse, sqlcipherkit_mark_refusal);
        return SQLITE_ERROR;
    }
    return upstream_sqlite3CheckObjectName(parse, name, type, table);
}

void sqlcipherkit_allow_slot_mark(sqlite3 *db, int is_allowed) {
    sqlcipherkit_guard *guard = sqlcipherkit_guard_of(db);
    if (guard != NULL) guard->mark_writers += is_allowed ? 1 : -1;
}

/* Prepares the statement that writes the row. SQLITE_ERROR if the table does not exist or has other columns. */
static int sqlcipherkit_prepare_mark(sqlite3 *db, const char *schema, sqlite3_stmt **statement) {
    char *sql = sqlite3_mprintf(
        "INSERT OR REPLACE INTO \"%w\"." SQLCIPHERKIT_SLOT_MARK "(one, id, generation, change, slots) VALUES (1, ?, ?, ?, ?)",
        schema);
    if (sql == NULL) return SQLITE_NOMEM;
    int rc = sqlite3_prepare_v2(db, sql, -1, statement, NULL);
    sqlite3_free(sql);
    return rc;
}

/* Returns whether the mark's page is that of another table or index, too, under whose name SQL could write it. Such a row may have
 * been written before there was a mark. */
static int sqlcipherkit_has_alias(sqlite3 *db, const char *schema) {
    const Table *mark = sqlite3FindTable(db, SQLCIPHERKIT_SLOT_MARK, schema);
    if (mark == NULL) return 0;
    for (HashElem *each = sqliteHashFirst(&mark->pSchema->tblHash); each != NULL; each = sqliteHashNext(each)) {
        const Table *table = sqliteHashData(each);
        if (table != mark && table->tnum == mark->tnum) return 1;
    }
    for (HashElem *each = sqliteHashFirst(&mark->pSchema->idxHash); each != NULL; each = sqliteHashNext(each)) {
        const Index *index = sqliteHashData(each);
        if (index->tnum == mark->tnum) return 1;
    }
    return 0;
}

static int sqlcipherkit_write_mark(sqlite3 *db, const char *schema, const void *id, sqlite3_int64 generation, const void *change,
                                   const void *slots, int slots_count) {
    sqlite3_stmt *statement = NULL;
    int rc = sqlcipherkit_prepare_mark(db, schema, &statement);
    if (rc == SQLITE_ERROR) {
        rc = sqlcipherkit_execute(db, "DROP TABLE IF EXISTS \"%w\"." SQLCIPHERKIT_SLOT_MARK, schema);
        if (rc == SQLITE_OK) {
            rc = sqlcipherkit_execute(
                db,
                "CREATE TABLE \"%w\"." SQLCIPHERKIT_SLOT_MARK
                "(one INTEGER PRIMARY KEY CHECK (one = 1), id BLOB NOT NULL, generation INTEGER NOT NULL, change BLOB, slots BLOB)",
                schema);
        }
        if (rc == SQLITE_OK) rc = sqlcipherkit_prepare_mark(db, schema, &statement);
    }
    if (rc == SQLITE_OK && sqlcipherkit_has_alias(db, schema)) rc = SQLITE_CORRUPT;
    if (rc == SQLITE_OK) rc = sqlite3_bind_blob(statement, 1, id, 16, SQLITE_STATIC);
    if (rc == SQLITE_OK) rc = sqlite3_bind_int64(statement, 2, generation);
    if (rc == SQLITE_OK && change != NULL) rc = sqlite3_bind_blob(statement, 3, change, 16, SQLITE_STATIC);
    if (rc == SQLITE_OK && slots != NULL) rc = sqlite3_bind_blob(statement, 4, slots, slots_count, SQLITE_STATIC);
    if (rc == SQLITE_OK) rc = sqlite3_step(statement);
    int finalized = sqlite3_finalize(statement);
    return rc == SQLITE_DONE ? SQLITE_OK : finalized != SQLITE_OK ? finalized : rc;
}

int sqlcipherkit_set_slot_mark(sqlite3 *db, const char *schema, const void *id, sqlite3_int64 generation, const void *change,
                               const void *slots, int slots_count) {
    int rc = sqlite3_exec(db, "SAVEPOINT sqlcipherkit_slot_mark", NULL, NULL, NULL);
    if (rc != SQLITE_OK) return rc;
    sqlcipherkit_allow_slot_mark(db, 1);
    rc = sqlcipherkit_write_mark(db, schema, id, generation, change, slots, slots_count);
    sqlcipherkit_allow_slot_mark(db, 0);
    if (rc == SQLITE_OK) rc = sqlite3_exec(db, "RELEASE sqlcipherkit_slot_mark", NULL, NULL, NULL);
    if (rc != SQLITE_OK) {
        sqlite3_exec(db, "ROLLBACK TO sqlcipherkit_slot_mark", NULL, NULL, NULL);
        sqlite3_exec(db, "RELEASE sqlcipherkit_slot_mark", NULL, NULL, NULL);
    }
    return rc;
}

int sqlcipherkit_remove_slot_mark(sqlite3 *db, const char *schema) {
    sqlcipherkit_allow_slot_mark(db, 1);
    int rc = sqlcipherkit_execute(db, "DROP TABLE IF EXISTS \"%w\"." SQLCIPHERKIT_SLOT_MARK, schema);
    sqlcipherkit_allow_slot_mark(db, 0);
    return rc;
}
