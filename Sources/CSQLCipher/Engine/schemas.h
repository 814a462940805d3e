/* The engine's objects for a schema. Only engine.c includes this, after the amalgamation. */

/* The place of a schema among a connection's databases; -1 for an unknown name. The first is "main", whatever else it is called. */
static int sqlcipherkit_place_of(sqlite3 *db, const char *schema) {
    if (schema == NULL) return -1;
    int place = db->nDb - 1;
    while (place >= 0 && sqlite3_stricmp(sqlite3_db_name(db, place), schema) != 0) place--;
    return place < 0 && sqlite3_stricmp(schema, "main") == 0 ? 0 : place;
}

/* The place of the database that an object of a schema is in; -1 for an object of none, as a subquery is. */
static int sqlcipherkit_place_in(const sqlite3 *db, const Schema *schema) {
    int place = schema == NULL ? -1 : db->nDb - 1;
    while (place >= 0 && db->aDb[place].pSchema != schema) place--;
    return place;
}

/* Returns whether a page has the byte that locks are on, and no content
 * (https://sqlite.org/fileformat2.html#the_lock_byte_page). */
static int sqlcipherkit_is_lock_page(unsigned int number, int page_size) {
    return number == (1u << 30) / (unsigned int)page_size + 1;
}

/* The b-tree of a schema; NULL for an unknown name, and for a temporary schema that has no file yet. */
static Btree *sqlcipherkit_btree(sqlite3 *db, const char *schema) {
    int index = sqlcipherkit_place_of(db, schema);
    return index < 0 ? NULL : db->aDb[index].pBt;
}

/* SQLCipher's state of an open database; NULL for one that is not encrypted. */
static codec_ctx *sqlcipherkit_codec_of(Btree *btree) {
    return btree == NULL ? NULL : (codec_ctx *)sqlite3BtreePager(btree)->pCodec;
}
