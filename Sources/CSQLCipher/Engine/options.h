/* The engine's compile options: every one with its reason.
 *
 * This header is read twice: by engine.c when the engine is compiled, and by Swift's importer through CSQLCipher.h.
 * An option that changes what sqlite3.h declares must therefore stand here and nowhere else. What only the engine's own
 * code looks at, and a client of the headers must not see (NDEBUG, HAVE_…), stands in engine.c.
 *
 * Reference: https://sqlite.org/compile.html, https://www.zetetic.net/sqlcipher/sqlcipher-api/
 */
#pragma once

/* --- Encryption -------------------------------------------------------------------------------------------------- */

/* SQLCipher's codec and its API (sqlite3_key_v2, sqlite3_rekey_v2). */
#define SQLITE_HAS_CODEC 1

/* SQLCipher's own start and stop, run by sqlite3_initialize and sqlite3_shutdown. */
#define SQLITE_EXTRA_INIT sqlcipher_extra_init
#define SQLITE_EXTRA_SHUTDOWN sqlcipher_extra_shutdown

/* Temporary tables, sorters and statement journals stay in memory whatever `PRAGMA temp_store` says:
 * with 2, `PRAGMA temp_store=FILE` would write plaintext to the temporary folder. */
#define SQLITE_TEMP_STORE 3

/* --- Threads ----------------------------------------------------------------------------------------------------- */

/* Multi-thread: a connection belongs to one thread at a time, which is what Swift's types enforce, and so pays for no
 * mutex. A connection opened with SQLITE_OPEN_FULLMUTEX still gets one. Serialized in the product SQLCipher: what others
 * write over it may count on the mutex, which every other build has. */
#ifdef SQLCIPHERKIT_PLAIN_SYMBOLS
#define SQLITE_THREADSAFE 1
#else
#define SQLITE_THREADSAFE 2
#endif

/* The shared cache is discouraged by SQLite and unsafe with SQLCipher (a second connection would share the first
 * one's key). Without it there is nothing that unlock-notify could notify of, so that stays out as well. */
#define SQLITE_OMIT_SHARED_CACHE 1

/* --- Safety ------------------------------------------------------------------------------------------------------ */

/* A string in double quotes is an identifier, never silently a literal: a misspelt column is an error. In the product
 * SQLCipher it is a literal, as in other builds; SQLITE_DBCONFIG_DQS_DML and _DDL switch that off. */
#ifndef SQLCIPHERKIT_PLAIN_SYMBOLS
#define SQLITE_DQS 0
#endif

/* No code is loaded into the process from a file named in SQL. */
#define SQLITE_OMIT_LOAD_EXTENSION 1

/* A LIKE on a blob column compares no blobs as if they were text; it is faster as well. */
#define SQLITE_LIKE_DOESNT_MATCH_BLOBS 1

/* New files are for their owner alone; journals and write-ahead logs take over the permissions of their database. */
#define SQLITE_DEFAULT_FILE_PERMISSIONS 0600

/* --- Full-text search, JSON, R-tree ------------------------------------------------------------------------------ */

/* JSON and JSONB functions are always in this engine; SQLITE_OMIT_JSON would be needed to leave them out. */
#define SQLITE_ENABLE_FTS5 1

/* FTS3 and FTS4 open the full-text tables of older applications, with the boolean query syntax. */
#define SQLITE_ENABLE_FTS3 1
#define SQLITE_ENABLE_FTS3_PARENTHESIS 1
#define SQLITE_ENABLE_FTS4 1

/* Spatial and range indexes. GEOPOLY, its polygon functions, has no feature here that needs it and stays out. */
#define SQLITE_ENABLE_RTREE 1

/* --- Change tracking --------------------------------------------------------------------------------------------- */

/* Sessions and changesets, and the hook with old and new values that they are made of. */
#define SQLITE_ENABLE_SESSION 1
#define SQLITE_ENABLE_PREUPDATE_HOOK 1

/* sqlite3_snapshot_*: several readers of a pool look at the very same moment. */
#define SQLITE_ENABLE_SNAPSHOT 1

/* --- Looking inside ---------------------------------------------------------------------------------------------- */

/* sqlite3_column_table_name and friends: which table and column a result comes from. */
#define SQLITE_ENABLE_COLUMN_METADATA 1

/* Virtual tables: pages per table (dbstat), prepared statements (sqlite_stmt), byte code (bytecode, tables_used). */
#define SQLITE_ENABLE_DBSTAT_VTAB 1
#define SQLITE_ENABLE_STMTVTAB 1
#define SQLITE_ENABLE_BYTECODE_VTAB 1

/* sqlite3_normalized_sql: a statement's text without its literals, fit for a log. */
#define SQLITE_ENABLE_NORMALIZE 1

/* --- SQL functions and syntax ------------------------------------------------------------------------------------ */

/* carray(): a Swift array as a table, for `IN` lists of any length without a parameter each. */
#define SQLITE_ENABLE_CARRAY 1

/* sin(), log(), pow() … (https://sqlite.org/lang_mathfunc.html). */
#define SQLITE_ENABLE_MATH_FUNCTIONS 1

/* median(), percentile() …, aggregate and window (https://sqlite.org/percentile.html). */
#define SQLITE_ENABLE_PERCENTILE 1

/* soundex(): words that sound alike, for code that used it with the system's SQLite. */
#define SQLITE_SOUNDEX 1

/* DELETE and UPDATE with ORDER BY and LIMIT; the vendored amalgamation was generated with a parser that knows them. */
#define SQLITE_ENABLE_UPDATE_DELETE_LIMIT 1

/* ANALYZE keeps histograms, so that the planner knows a rare value from a common one. */
#define SQLITE_ENABLE_STAT4 1

/* --- Limits ------------------------------------------------------------------------------------------------------ */

/* 125 is the highest number of attached databases that the engine allows. */
#define SQLITE_MAX_ATTACHED 125

/* Room for long `IN` lists and many-row inserts; Debian and Ubuntu ship the same number. */
#define SQLITE_MAX_VARIABLE_NUMBER 250000

/* --- Speed ------------------------------------------------------------------------------------------------------- */

/* No global statistics of memory use: they take a mutex on every allocation. */
#define SQLITE_DEFAULT_MEMSTATUS 0

/* --- Pages: defaults sized for encrypted work -------------------------------------------------------------------- */

/* The page cache's limit for a connection, in KiB (negative numbers mean that). A page that is not in the cache costs an
 * encrypted database a read, an HMAC and a decryption, about 6 µs where plain SQLite takes one. Measured with random
 * look-ups in 220 MB, against plain SQLite with its own 2 MB: 2.3 times the time with 2 MB, 2.0 with 64, 1.3 with 256.
 * It is a limit, not an allocation: a small database never comes near it, and `PRAGMA cache_size` sets another one.
 * Phones and watches, where memory is what a program is ended for, get 32 MB. */
#ifndef SQLITE_DEFAULT_CACHE_SIZE
#ifdef __APPLE__
#include <TargetConditionals.h>
#endif
#if defined(__APPLE__) && TARGET_OS_IPHONE
#define SQLITE_DEFAULT_CACHE_SIZE -32768
#else
#define SQLITE_DEFAULT_CACHE_SIZE -262144
#endif
#endif

/* No memory-mapped reading, not even by `PRAGMA mmap_size`. A mapped page saves plain SQLite the copy into its cache; an
 * encrypted page has to be decrypted into the cache anyway, so that nothing is saved, and an error of the disk would end
 * the program with a signal instead of a result code. */
#define SQLITE_MAX_MMAP_SIZE 0
