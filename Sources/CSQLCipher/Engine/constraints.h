/* Copies existing rows even if their table would refuse them as new. Only engine.c includes this, after the amalgamation. */
#include "../include/constraints.h"

int sqlcipherkit_allow_nulls(sqlite3 *db, const char *schema) {
    int index = sqlcipherkit_place_of(db, schema);
    if (index < 0 || db->aDb[index].pSchema == NULL) return SQLITE_MISUSE;
    sqlite3_mutex_enter(db->mutex);
    HashElem *element = sqliteHashFirst(&db->aDb[index].pSchema->tblHash);
    for (; element != NULL; element = sqliteHashNext(element)) {
        Table *table = sqliteHashData(element);
        for (int column = 0; column < table->nCol; column++) table->aCol[column].notNull = OE_None;
    }
    sqlite3_mutex_leave(db->mutex);
    return SQLITE_OK;
}
