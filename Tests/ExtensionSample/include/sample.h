#pragma once
#include "sqlite3.h"

/* Adds the function sample_twice(x) and the table-valued function sample_countdown(from). */
int sqlite3_sample_init(sqlite3 *db, char **message, const sqlite3_api_routines *api);

/* Fails with a message. */
int sqlite3_failing_init(sqlite3 *db, char **message, const sqlite3_api_routines *api);
