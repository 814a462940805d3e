/* Removing functions and collations. Only engine.c includes this, after the amalgamation. */
#include "../include/functions.h"

/* More parameters than any call can have. The definition itself cannot be freed: expired statements point to it. */
enum { sqlcipherkit_no_count = 0x7fff };

void sqlcipherkit_hide_removed_function(sqlite3 *db, const char *name, int count, int hidden) {
    const int from = hidden ? count : sqlcipherkit_no_count;
    /* While statements run, SQLite creates a new definition instead of changing an existing one. */
    if (!hidden && db->nVdbeActive > 0) return;
    for (FuncDef *definition = sqlite3HashFind(&db->aFunc, name); definition != NULL; definition = definition->pNext) {
        if (definition->nArg == from && definition->xSFunc == NULL) {
            definition->nArg = (i16)(hidden ? sqlcipherkit_no_count : count);
            return;
        }
    }
}

/* The name until SQLite 3.54. */
#if SQLITE_VERSION_NUMBER < 3054000
#define sqlite3BinaryCompare binCollFunc
#endif

int sqlcipherkit_remove_collation(sqlite3 *db, const char *name) {
    static const struct {
        const char *name;
        int (*compare)(void *, int, const void *, int, const void *);
    } own[] = {{"BINARY", sqlite3BinaryCompare}, {"NOCASE", nocaseCollatingFunc}, {"RTRIM", rtrimCollFunc}};
    for (unsigned i = 0; i < sizeof own / sizeof *own; i++) {
        if (sqlite3_stricmp(name, own[i].name) == 0) {
            return sqlite3_create_collation_v2(db, name, SQLITE_UTF8, NULL, own[i].compare, NULL);
        }
    }
    return sqlite3_create_collation_v2(db, name, SQLITE_UTF8, NULL, NULL, NULL);
}
