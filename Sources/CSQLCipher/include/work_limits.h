/* The resources that the work on an untrusted file may use. */
#pragma once

#include "sqlite.h"

/* Limits how many bytes the engine may allocate on this thread from now on, beyond those that it frees again; negative is no limit.
 * An allocation beyond it fails as if there were no memory. A limit within another one never allows more. Returns the state to end
 * it with. */
struct sqlcipherkit_memory_limit { sqlite3_int64 left, outer; };
struct sqlcipherkit_memory_limit sqlcipherkit_limit_memory(sqlite3_int64 bytes);

/* Ends a limit on the thread that has set it. Returns whether an allocation was refused since then. */
int sqlcipherkit_end_memory_limit(struct sqlcipherkit_memory_limit limit);

/* The number of rows over which the statements of a connection have stepped since each was compiled. Called from a progress handler
 * or while no statement runs. */
sqlite3_int64 sqlcipherkit_rows_stepped(sqlite3 *db);

/* Returns whether the statement from which a progress handler is called has ended. SQLite asks the handler once more on the way
 * out, and would report an interrupt for what is committed. */
int sqlcipherkit_has_ended(sqlite3 *db);
