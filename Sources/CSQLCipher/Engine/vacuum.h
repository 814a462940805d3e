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

/* Whether a database that is attached under an index is VACUUM's copy. */
static int sqlcipherkit_is_copy(const sqlite3 *db, int index) {
    return sqlcipherkit_vacuumed.db == db && (db->mDbFlags & DBFLAG_Vacuum) && index == sqlcipherkit_vacuumed.attached;
}

static int sqlcipherkit_vacuum(sqlite3 *db, char **error, int index, sqlite3_value *into) {
    /* The file that VACUUM INTO writes is no copy of this kind. */
    if (into != NULL) return sqlcipherkit_sqlite_vacuum(db, error, index, into);
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
    int rc = sqlcipherkit_sqlite_vacuum(db, error, index, into);
    sqlcipherkit_vacuumed = before;
    return rc;
}

void sqlcipherkit_vacuum_begins(sqlite3 *db) {
    /* With this flag each row keeps its id, as with VACUUM INTO. It has no other effect in SQLite. */
    db->mDbFlags |= DBFLAG_VacuumInto;
}

void sqlcipherkit_vacuum_ended(sqlite3 *db) { db->mDbFlags &= ~(u32)DBFLAG_VacuumInto; }

/* When VACUUM attaches its copy, the b-tree is opened first, then the schema is counted, then keyed. */
static int sqlcipherkit_temporary_is_in_memory(const sqlite3 *db) {
    const int is_in_file = sqlcipherkit_is_copy(db, db->nDb) && sqlcipherkit_vacuumed.is_in_file;
    return !is_in_file && sqlcipherkit_sqlite_temporary_is_in_memory(db);
}
