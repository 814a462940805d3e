/* The engine's compile options, each with its reason.
 *
 * This header is read twice: by engine.c when the engine is compiled, and by Swift's importer through CSQLCipher.h.
 * An option that changes the declarations in sqlite3.h must therefore be defined here and nowhere else. Options that only the
 * engine's own code uses, and that a client of the headers must not see (NDEBUG, HAVE_…), are in engine.c.
 *
 * Reference: https://sqlite.org/compile.html, https://www.zetetic.net/sqlcipher/sqlcipher-api/
 */
#pragma once

/* --- Encryption -------------------------------------------------------------------------------------------------- */

/* SQLCipher's codec and its API (sqlite3_key_v2, sqlite3_rekey_v2). */
#define SQLITE_HAS_CODEC 1

/* SQLCipher's start and stop (start.h), run by sqlite3_initialize and sqlite3_shutdown. */
#define SQLITE_EXTRA_INIT sqlcipherkit_extra_init
#define SQLITE_EXTRA_SHUTDOWN sqlcipherkit_extra_shutdown

/* Each new connection gets the tokenizer of words.h. */
#define SQLITE_EXTRA_AUTOEXT sqlcipherkit_start_full_text

/* Temporary tables, sorters and statement journals stay in memory whatever `PRAGMA temp_store` says:
 * with 2, `PRAGMA temp_store=FILE` would write plaintext to the temporary folder. */
#define SQLITE_TEMP_STORE 3

/* --- Threads ----------------------------------------------------------------------------------------------------- */

/* Multi-thread: a connection belongs to one thread at a time, as the Swift types enforce, and so needs no mutex. A connection
 * opened with SQLITE_OPEN_FULLMUTEX still gets one. Serialized in the product SQLCipher: clients of other builds rely on the
 * mutex that every other build has. */
#ifdef SQLCIPHERKIT_PLAIN_SYMBOLS
#define SQLITE_THREADSAFE 1
#else
#define SQLITE_THREADSAFE 2
#endif

/* SQLite discourages the shared cache, and it is unsafe with SQLCipher (a second connection would share the first one's key).
 * Without it, unlock-notify has nothing to notify of, and is left out as well. */
#define SQLITE_OMIT_SHARED_CACHE 1

/* --- Safety ------------------------------------------------------------------------------------------------------ */

/* A string in double quotes is an identifier, never silently a literal: a misspelt column is an error. In the product
 * SQLCipher it is a literal, as in other builds; SQLITE_DBCONFIG_DQS_DML and _DDL switch that off. */
#ifndef SQLCIPHERKIT_PLAIN_SYMBOLS
#define SQLITE_DQS 0
#endif

/* A commit is safe when it returns. SQLite's own default (2, FULL) leaves the removal of a rollback journal to the file system, and
 * a power failure in the next seconds may undo the commit. In the other journal modes the two are the same. */
#define SQLITE_DEFAULT_SYNCHRONOUS 3

/* No code is loaded into the process from a file named in SQL. */
#define SQLITE_OMIT_LOAD_EXTENSION 1

/* A LIKE on a blob column does not compare blobs as if they were text; it is also faster. */
#define SQLITE_LIKE_DOESNT_MATCH_BLOBS 1

/* Only their owner can read new files; journals and write-ahead logs take the permissions of their database. */
#define SQLITE_DEFAULT_FILE_PERMISSIONS 0600

/* --- Full-text search, JSON, R-tree ------------------------------------------------------------------------------ */

/* JSON and JSONB functions need no option: they are always included unless SQLITE_OMIT_JSON is defined. */
#define SQLITE_ENABLE_FTS5 1

/* FTS3 and FTS4 open the full-text tables of older applications, with the boolean query syntax. */
#define SQLITE_ENABLE_FTS3 1
#define SQLITE_ENABLE_FTS3_PARENTHESIS 1
#define SQLITE_ENABLE_FTS4 1

/* Spatial and range indexes. GEOPOLY, its polygon functions, is left out, as no feature here needs it. */
#define SQLITE_ENABLE_RTREE 1

/* --- Change tracking --------------------------------------------------------------------------------------------- */

/* Sessions and changesets, and the hook with old and new values that they are built on. */
#define SQLITE_ENABLE_SESSION 1
#define SQLITE_ENABLE_PREUPDATE_HOOK 1

/* sqlite3_snapshot_*: several readers of a pool read the same snapshot. */
#define SQLITE_ENABLE_SNAPSHOT 1

/* --- Looking inside ---------------------------------------------------------------------------------------------- */

/* sqlite3_column_table_name and friends: which table and column a result comes from. */
#define SQLITE_ENABLE_COLUMN_METADATA 1

/* Virtual tables: pages per table (dbstat), prepared statements (sqlite_stmt), byte code (bytecode, tables_used). */
#define SQLITE_ENABLE_DBSTAT_VTAB 1
#define SQLITE_ENABLE_STMTVTAB 1
#define SQLITE_ENABLE_BYTECODE_VTAB 1

/* sqlite3_normalized_sql: a statement's text without its literals, suitable for a log. */
#define SQLITE_ENABLE_NORMALIZE 1

/* --- SQL functions and syntax ------------------------------------------------------------------------------------ */

/* carray(): a Swift array as a table, for `IN` lists of any length without a parameter for each element. */
#define SQLITE_ENABLE_CARRAY 1

/* sin(), log(), pow() … (https://sqlite.org/lang_mathfunc.html). */
#define SQLITE_ENABLE_MATH_FUNCTIONS 1

/* median(), percentile() …, aggregate and window (https://sqlite.org/percentile.html). */
#define SQLITE_ENABLE_PERCENTILE 1

/* soundex(): finds words that sound alike, for code that uses it with the system's SQLite. */
#define SQLITE_SOUNDEX 1

/* DELETE and UPDATE with ORDER BY and LIMIT; the vendored amalgamation was generated with a parser that supports them. */
#define SQLITE_ENABLE_UPDATE_DELETE_LIMIT 1

/* ANALYZE keeps histograms, so that the planner can tell a rare value from a common one. */
#define SQLITE_ENABLE_STAT4 1

/* --- Limits ------------------------------------------------------------------------------------------------------ */

/* 125 is the highest number of attached databases that the engine allows. */
#define SQLITE_MAX_ATTACHED 125

#ifndef SQLCIPHERKIT_PLAIN_SYMBOLS
/* One more than the usual 2,000, which the Swift layer's connections have as their limit: whatever copies a table of 2,000 columns
 * reads its row id beside them. */
#define SQLITE_MAX_COLUMN 2001
#endif

/* Room for long `IN` lists and many-row inserts; Debian and Ubuntu ship the same number. */
#define SQLITE_MAX_VARIABLE_NUMBER 250000

/* --- Speed ------------------------------------------------------------------------------------------------------- */

/* No global statistics of memory use: they take a mutex on every allocation. */
#define SQLITE_DEFAULT_MEMSTATUS 0

/* --- Pages: defaults sized for encrypted work -------------------------------------------------------------------- */

/* The page cache's limit for a connection, in KiB (which a negative number means). A page that is not in the cache costs an
 * encrypted database a read, an HMAC and a decryption, about 6 µs where plain SQLite takes 1 µs. Measured with random
 * look-ups in 220 MB, against plain SQLite with its own 2 MB: 2.3 times the time with 2 MB, 2.0 with 64, 1.3 with 256.
 * It is a limit, not an allocation: a small database never comes near it, and `PRAGMA cache_size` sets another limit.
 * Phones and watches, where the system ends programs that use too much memory, get 32 MB. */
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

/* No memory-mapped reading, not even with `PRAGMA mmap_size`. A mapped page saves plain SQLite the copy into its cache. An
 * encrypted page must be decrypted into the cache anyway, so nothing would be saved, and a disk error would end the program with a
 * signal instead of a result code. */
#define SQLITE_MAX_MMAP_SIZE 0
