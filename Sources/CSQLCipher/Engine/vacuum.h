/* Puts VACUUM's copy of the database into an encrypted file. Only engine.c includes this, after the amalgamation. */
#include "../include/vacuum.h"

/* The database that this thread is about to vacuum, and how to distinguish VACUUM's ATTACH from every other temporary database:
 * sorters and statement journals stay in memory, as nothing encrypts them. */
static _Thread_local struct {
    const sqlite3 *db;
    const codec_ctx *codec;
    int attached;
} sqlcipherkit_vacuumed;

void sqlcipherkit_vacuum_begins(sqlite3 *db, const char *schema) {
    const codec_ctx *codec = sqlcipherkit_codec_of(sqlcipherkit_btree(db, schema));
    /* With this flag each row keeps its id, as with VACUUM INTO. It has no other effect. */
    db->mDbFlags |= DBFLAG_VacuumInto;
    /* VACUUM keys its copy if the main database has a key. */
    const int isKeyed = sqlcipherkit_codec_of(db->aDb[0].pBt) != NULL;
    if (isKeyed != (codec != NULL)) return;
    sqlcipherkit_vacuumed.db = db;
    sqlcipherkit_vacuumed.codec = codec;
    sqlcipherkit_vacuumed.attached = db->nDb;
}

void sqlcipherkit_vacuum_ended(sqlite3 *db) {
    sqlcipherkit_vacuumed.db = NULL;
    db->mDbFlags &= ~(u32)DBFLAG_VacuumInto;
}

/* When VACUUM attaches its copy, the b-tree is opened first, then the schema is counted, then keyed. */
static int sqlcipherkit_temporary_is_in_memory(const sqlite3 *db) {
    const int isCopy =
        sqlcipherkit_vacuumed.db == db && (db->mDbFlags & DBFLAG_Vacuum) && db->nDb == sqlcipherkit_vacuumed.attached;
    return !isCopy && sqlcipherkit_sqlite_temporary_is_in_memory(db);
}

/* If the database that is attached under an index is VACUUM's copy, the codec whose settings it takes; otherwise NULL. */
static const codec_ctx *sqlcipherkit_vacuumed_codec(const sqlite3 *db, int index) {
    const int isCopy =
        sqlcipherkit_vacuumed.db == db && (db->mDbFlags & DBFLAG_Vacuum) && index == sqlcipherkit_vacuumed.attached;
    return isCopy ? sqlcipherkit_vacuumed.codec : NULL;
}
