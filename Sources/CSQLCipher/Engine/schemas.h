/* The engine's objects for a schema. Only engine.c includes this, after the amalgamation. */

/* The b-tree of a schema; NULL for an unknown name, and for a temporary schema that has no file yet. */
static Btree *sqlcipherkit_btree(sqlite3 *db, const char *schema) {
    int index = sqlite3FindDbName(db, schema);
    return index < 0 ? NULL : db->aDb[index].pBt;
}

/* SQLCipher's state of an open database; NULL for one that is not encrypted. */
static codec_ctx *sqlcipherkit_codec_of(Btree *btree) {
    return btree == NULL ? NULL : (codec_ctx *)sqlcipherPagerGetCodec(sqlite3BtreePager(btree));
}
