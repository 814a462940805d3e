/* Sends the engine's two logs, SQLite's and SQLCipher's, to one function of the program. Both belong to the process. */
#pragma once

#include "sqlite.h"

/* Receives a message of SQLite with its result code, or of SQLCipher with the code -1 and a line of the form
 * `2026-11-21 08:30:00.250: WARN CORE text`. Called on any thread, possibly while the engine holds locks. */
typedef void (*sqlcipherkit_log_sink)(int code, const char *message);

/* Sends both logs to `sink`, or nowhere if it is NULL. cipher_level is the highest of SQLCipher's levels to pass on (0 none,
 * 1 error, 2 warning, 4 info, 8 debug, 16 trace). This also redirects a log that a program has sent elsewhere with PRAGMA
 * cipher_log. Returns an SQLite result code. */
int sqlcipherkit_set_log(sqlcipherkit_log_sink sink, unsigned int cipher_level);

/* Between a call with 1 and a call with -1, this thread's log shows the texts of result codes in place of SQLite's messages: the
 * SQL being compiled contains a key, and messages quote the SQL. */
void sqlcipherkit_log_secret(int delta);
