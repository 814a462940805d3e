/* Puts VACUUM's copy of an encrypted database into an encrypted file. Only engine.c includes this, after the amalgamation. */
#include "../include/vacuum.h"

/* The database that this thread is vacuuming, and how to distinguish its copy, which VACUUM attaches, from every other temporary
 * database: sorters and statement journals stay in memory, as nothing encrypts them. */
static _Thread_local struct {
    const sqlite3 *db;
    /* NULL for plaintext. */
    const codec_ctx *codec;
    int attached;
    int is_in_file;
} sqlcipherkit_vacuumed;

/* Returns whether a database that is attached under an index is VACUUM's copy. */
static int sqlcipherkit_is_copy(const sqlite3 *db, int index) {
    return sqlcipherkit_vacuumed.db == db && (db->mDbFlags & DBFLAG_Vacuum) && index == sqlcipherkit_vacuumed.attached;
}

/* Returns whether a text of the schema makes an object in the database that it is run for, and nothing else: VACUUM runs the texts
 * of tables and indexes, and a file may have others. A temporary table would take the place of the one that is copied. */
static int sqlcipherkit_makes_own_object(const char *text) {
    long long count = 0;
    sqlcipherkit_next_token(&text, &count);
    if (!sqlcipherkit_is_word(text, count, "CREATE")) return 0;
    sqlcipherkit_next_token(&text, &count);
    if (sqlcipherkit_is_word(text, count, "UNIQUE")) sqlcipherkit_next_token(&text, &count);
    if (!sqlcipherkit_is_word(text, count, "TABLE") && !sqlcipherkit_is_word(text, count, "INDEX")) return 0;
    /* The name, without that of a schema before it. */
    sqlcipherkit_next_token(&text, &count);
    if (count == 0) return 0;
    int kind = sqlcipherkit_next_token(&text, &count);
    if (sqlcipherkit_is_word(text, count, ".")) return 0;
    for (; count > 0 && kind != SQLCIPHERKIT_TOKEN_SEMICOLON; kind = sqlcipherkit_next_token(&text, &count)) {
        if (kind == SQLCIPHERKIT_TOKEN_UNREADABLE) return 0;
    }
    sqlcipherkit_next_token(&text, &count);
    return count == 0;
}

static int sqlcipherkit_may_vacuum(sqlite3 *db, char **error, int index) {
    int is_emptied = 0;
    sqlite3_db_config(db, SQLITE_DBCONFIG_RESET_DATABASE, -1, &is_emptied);
    /* Then it has no schema. */
    if (is_emptied) return SQLITE_OK;
    sqlite3_stmt *texts = NULL;
    /* As in VACUUM itself, who traces statements sees only those of the caller. */
    const u8 traced = db->mTrace;
    db->mTrace = 0;
    char *sql = sqlite3_mprintf(
        "SELECT sql, type, name FROM \"%w\".sqlite_schema WHERE sql IS NOT NULL AND type IN ('table', 'index') AND "
        "coalesce(rootpage, 1) > 0", db->aDb[index].zDbSName);
    int rc = sql == NULL ? SQLITE_NOMEM : sqlite3_prepare_v2(db, sql, -1, &texts, NULL);
    sqlite3_free(sql);
    while (rc == SQLITE_OK && (rc = sqlite3_step(texts)) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(texts, 0);
        rc = text == NULL ? SQLITE_NOMEM : SQLITE_OK;
        if (rc != SQLITE_OK || sqlcipherkit_makes_own_object(text)) continue;
        sqlite3DbFree(db, *error);
        *error = sqlite3MPrintf(db, "the schema's text for an object of this database creates something else: it is not run");
        rc = SQLITE_CORRUPT;
    }
    sqlite3_finalize(texts);
    db->mTrace = traced;
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

SQLITE_PRIVATE int sqlite3RunVacuum(char **error, sqlite3 *db, int index, sqlite3_value *into) {
    /* In a transaction, SQLite's own function says why not. */
    const int allowed = db->autoCommit && db->nVdbeActive == 1 ? sqlcipherkit_may_vacuum(db, error, index) : SQLITE_OK;
    if (allowed != SQLITE_OK) return allowed;
    /* The file that VACUUM INTO writes is no copy of this kind. */
    if (into != NULL) return upstream_sqlite3RunVacuum(error, db, index, into);
    Btree *btree = db->aDb[index].pBt;
    const codec_ctx *codec = sqlcipherkit_codec_of(btree);
    /* The copy's key is the main database's. */
    const int has_its_key = (sqlcipherkit_codec_of(db->aDb[0].pBt) != NULL) == (codec != NULL);
    const int may_be_file = has_its_key && !sqlite3PagerIsMemdb(sqlite3BtreePager(btree));
    /* A function in an index may use another connection. */
    const __typeof__(sqlcipherkit_vacuumed) before = sqlcipherkit_vacuumed;
    sqlcipherkit_vacuumed.db = db;
    sqlcipherkit_vacuumed.codec = codec;
    sqlcipherkit_vacuumed.attached = db->nDb;
    sqlcipherkit_vacuumed.is_in_file = may_be_file && (db->mDbFlags & DBFLAG_VacuumInto);
    /* SQLite puts the database's name into a literal, which a quote would end. */
    static char unquoted[] = "sqlcipherkit_vacuumed";
    char *name = db->aDb[index].zDbSName;
    if (strchr(name, '\'') != NULL) db->aDb[index].zDbSName = unquoted;
    int rc = upstream_sqlite3RunVacuum(error, db, index, into);
    db->aDb[index].zDbSName = name;
    sqlcipherkit_vacuumed = before;
    return rc;
}

void sqlcipherkit_vacuum_begins(sqlite3 *db) {
    /* With this flag each row keeps its id, as with VACUUM INTO. It has no other effect in SQLite. */
    db->mDbFlags |= DBFLAG_VacuumInto;
}

void sqlcipherkit_vacuum_ended(sqlite3 *db) { db->mDbFlags &= ~(u32)DBFLAG_VacuumInto; }

/* When VACUUM attaches its copy, the b-tree is opened first, then the schema is counted, then keyed. */
SQLITE_PRIVATE int sqlite3TempInMemory(const sqlite3 *db) {
    const int is_in_file = sqlcipherkit_is_copy(db, db->nDb) && sqlcipherkit_vacuumed.is_in_file;
    return !is_in_file && upstream_sqlite3TempInMemory(db);
}
