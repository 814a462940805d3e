/* Waits for locks that an interrupt ends. */
#pragma once

#include "sqlite.h"

/* Called by a busy handler before each attempt, after `count` others. Returns whether the wait goes on: not after an interrupt, nor
 * if the connection's progress handler says so. */
int sqlcipherkit_wait_goes_on(sqlite3 *db, int count);

/* Returns whether the connection's last wait ended by an interrupt, which SQLite reports as SQLITE_BUSY; once for each wait. */
int sqlcipherkit_take_interrupted_wait(sqlite3 *db);
