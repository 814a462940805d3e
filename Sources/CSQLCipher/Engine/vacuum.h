/* VACUUM's copy of the database in an encrypted file. engine.c includes this after the amalgamation; nothing else does. */
#include "../include/vacuum.h"

/* The database that this thread is about to vacuum, and what tells its VACUUM's ATTACH from every other use of memory: sorters and
 * statement journals stay there, as nothing encrypts them. */
static _Thread_local struct {
    const sqlite3 *db;
    const codec_ctx *codec;
    int attached;
} sqlcipherkit_vacuumed;

void sqlcipherkit_vacuum_begins(sqlite3 *db, const char *schema) {
    const codec_ctx *codec = sqlcipherkit_codec_of(sqlcipherkit_btree(db, schema));
    /* With it, as with VACUUM INTO, each row keeps its id. It says nothing else. */
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

/* While VACUUM attaches its copy, the b-tree is opened first, then counted, then keyed. */
static int sqlcipherkit_temporary_is_in_memory(const sqlite3 *db) {
    const int isCopy =
        sqlcipherkit_vacuumed.db == db && (db->mDbFlags & DBFLAG_Vacuum) && db->nDb == sqlcipherkit_vacuumed.attached;
    return !isCopy && sqlcipherkit_sqlite_temporary_is_in_memory(db);
}

/* The codec whose settings the database that is attached under an index takes, if it is VACUUM's copy; otherwise NULL. */
static const codec_ctx *sqlcipherkit_vacuumed_codec(const sqlite3 *db, int index) {
    const int isCopy =
        sqlcipherkit_vacuumed.db == db && (db->mDbFlags & DBFLAG_Vacuum) && index == sqlcipherkit_vacuumed.attached;
    return isCopy ? sqlcipherkit_vacuumed.codec : NULL;
}
