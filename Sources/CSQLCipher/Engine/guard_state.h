/* The data that the engine stores with a guarded connection. Only engine.c includes this, after the amalgamation.
 *
 * The engine allocates it when the connection opens (guard.h), so that setting a field later cannot fail for want of memory. */
#include "../include/changes.h"
#include "../include/guard.h"
#include "../include/recorder.h"

typedef struct sqlcipherkit_guard {
    /* The settings of the key that the Swift layer is setting at this moment: the permission to set a key. NULL for none. */
    const sqlcipherkit_cipher_settings *granted;
    /* The number of callers that are writing the mark of the key slots, or copying it with the rest of a database. */
    int mark_writers;
    /* True if the connection is one of several that must stay alike. */
    int is_one_of_many;
    /* True if the authorizer is asked about everything that a statement reads (access.h). */
    int asks_more;
    /* The hook of changes.h. NULL for none. */
    sqlcipherkit_change_callback changed;
    void *changed_context;
    /* The recorders of recorder.h. */
    sqlcipherkit_recorder *recorders;
    /* True while a change log is writing, and the triggers that watch it rest. */
    int is_logging;
} sqlcipherkit_guard;

static const char sqlcipherkit_guard_name[] = "sqlcipherkit_guard";

/* NULL for a connection that was not opened by the Swift layer. */
static sqlcipherkit_guard *sqlcipherkit_guard_of(sqlite3 *db) {
    return (sqlcipherkit_guard *)sqlite3_get_clientdata(db, sqlcipherkit_guard_name);
}
