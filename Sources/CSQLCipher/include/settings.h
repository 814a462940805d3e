/* The settings of a connection that a pragma can change, to be put back when the connection is returned. */
#pragma once

#include "sqlite.h"

typedef struct {
    sqlite3_uint64 flags;
    int (*busy)(void *, int);
    void *busy_context;
    int busy_timeout;
} sqlcipherkit_settings;

/* Reads the switches, such as `PRAGMA foreign_keys` and `query_only`, and the busy handler. */
sqlcipherkit_settings sqlcipherkit_read_settings(sqlite3 *db);

/* Restores them. Must not be called in a callback or during a statement's step. */
void sqlcipherkit_restore_settings(sqlite3 *db, const sqlcipherkit_settings *settings);
