/* Calls that SQLite's own API spreads over two or three: each of these asks once.
 *
 * They are compiled with the engine (Engine/access.h), because a column's storage class and its value are then read
 * with one look at the row instead of one per call, and because the codec's key derivation has no public entry.
 */
#ifndef SQLCIPHERKIT_ACCESS_H
#define SQLCIPHERKIT_ACCESS_H

#include "options.h"
#include "symbols.h"
#include "../../../Vendor/sqlcipher/sqlite3.h"

/* Column `index` of the current row as an integer. Returns its storage class (SQLITE_INTEGER … SQLITE_NULL) and writes
 * *value only where that is SQLITE_INTEGER. Outside the row: SQLITE_NULL. Nothing is converted. */
int sqlcipherkit_column_int64(sqlite3_stmt *statement, int index, sqlite3_int64 *value);

/* Column `index` as a floating-point number: the same, for SQLITE_FLOAT. */
int sqlcipherkit_column_double(sqlite3_stmt *statement, int index, double *value);

/* Column `index` as bytes: the UTF-8 of a SQLITE_TEXT, the content of a SQLITE_BLOB, valid until the statement moves on.
 * Returns the storage class and writes *bytes and *count only for these two. *bytes is NULL where *count is 0 or memory
 * ran out; in the latter case *count is -1. */
int sqlcipherkit_column_bytes(sqlite3_stmt *statement, int index, const void **bytes, int *count);

/* A key from a passphrase by the provider's PBKDF2 (RFC 8018): algorithm 0 is HMAC-SHA1, 1 HMAC-SHA256, 2 HMAC-SHA512.
 * Reads `passphrase` and `salt`, writes key_count bytes to `key`. Returns an SQLite result code. */
int sqlcipherkit_derive_key(int algorithm, const void *passphrase, int passphrase_count, const void *salt, int salt_count,
                            int iterations, void *key, int key_count);

/* The key of an open database that is encrypted: writes its 32 bytes and the 16 of its salt, one behind the other, for a second
 * database with the same key. Returns SQLITE_OK, SQLITE_NOTFOUND for a plaintext database, or another result code. */
int sqlcipherkit_copy_key(sqlite3 *db, const char *schema, unsigned char *key);

/* Random bytes from the provider. Returns an SQLite result code; on any but SQLITE_OK nothing may be used of `bytes`. */
int sqlcipherkit_random(void *bytes, int count);

/* The key of an open database in the form that spares a second connection all derivation: x'…' with the key, the HMAC key if
 * there is one, and the salt, in hexadecimal. Writes up to `capacity` bytes to `text`, without a 0 behind them, and their
 * number to *count. Returns SQLITE_OK, SQLITE_NOTFOUND for a database without a key, SQLITE_TOOBIG or SQLITE_NOMEM. */
int sqlcipherkit_derived_key(sqlite3 *db, const char *schema, void *text, int capacity, int *count);

/* `PRAGMA query_only`, without the compilation of a statement: 1 makes every write through the connection fail with
 * SQLITE_READONLY, 0 lifts that. Outside of a statement. */
void sqlcipherkit_set_query_only(sqlite3 *db, int on);

/* The number of pages that a database's header declares (https://sqlite.org/fileformat2.html, offset 28), and of those that are
 * there, in the file or its write-ahead log. SQLite itself refuses every statement on a file that lacks some.
 * Returns an SQLite result code; writes both numbers on SQLITE_OK. */
int sqlcipherkit_page_counts(sqlite3 *db, const char *schema, unsigned int *declared, unsigned int *present);

/* sqlite3_rekey_v2 with three differences: it tells how far it is and can be stopped, it notices a commit that failed, and
 * after any failure the connection has its old key and salt back, where the original leaves the new key set for writing.
 * `progress`, unless NULL, is called with `argument`, the number of pages rewritten and that of all pages, every 64 pages,
 * before the first and before the commit; an answer other than 0 rolls back and makes the call return SQLITE_INTERRUPT.
 * The caller holds the exclusive lock and is outside of a transaction. Returns an SQLite result code. */
int sqlcipherkit_rekey(sqlite3 *db, const char *schema, const void *key, int count,
                       int (*progress)(void *argument, unsigned int done, unsigned int total), void *argument);

#endif
