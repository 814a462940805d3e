/* Settings that a pragma can change. Only engine.c includes this, after the amalgamation. */
#include "../include/settings.h"

sqlcipherkit_settings sqlcipherkit_read_settings(sqlite3 *db) {
    return (sqlcipherkit_settings){
        .flags = db->flags, .busy = db->busyHandler.xBusyHandler, .busy_context = db->busyHandler.pBusyArg,
        .busy_timeout = db->busyTimeout};
}

/* The bits of all pragmas that are switches. */
static u64 sqlcipherkit_switches(void) {
    u64 switches = 0;
    for (size_t i = 0; i < ArraySize(aPragmaName); i++) {
        if (aPragmaName[i].ePragTyp == PragTyp_FLAG) switches |= aPragmaName[i].iArg;
    }
    return switches;
}

void sqlcipherkit_restore_settings(sqlite3 *db, const sqlcipherkit_settings *settings) {
    sqlite3_mutex_enter(db->mutex);
    if (db->flags != settings->flags) {
        u64 changed = (db->flags ^ settings->flags) & sqlcipherkit_switches();
        db->flags ^= changed;
        /* As the pragma does: a compiled statement depends on the switches. */
        if (changed != 0) sqlite3ExpirePreparedStatements(db, 0);
    }
    db->busyHandler.xBusyHandler = settings->busy;
    db->busyHandler.pBusyArg = settings->busy_context;
    db->busyTimeout = settings->busy_timeout;
    sqlite3_mutex_leave(db->mutex);
}
