/* The settings of a connection that a pragma can change, to be put back when the connection is returned. */
#pragma once

#include "sqlite.h"

typedef struct {
    sqlite3_uint64 flags;
    int (*busy)(void *, int);
    void *busy_context;
    int busy_timeout;
} sqlcipherkit_settings;

/* What `PRAGMA foreign_keys`, `query_only` and the other switches have set, and what waits for locks. */
sqlcipherkit_settings sqlcipherkit_read_settings(sqlite3 *db);

/* Puts them back. Outside of a callback and of a running statement's step. */
void sqlcipherkit_restore_settings(sqlite3 *db, const sqlcipherkit_settings *settings);
