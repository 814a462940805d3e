/* The key of an open database. */
#pragma once

#include "sqlite.h"

/* The key of an open database that is encrypted: writes its 32 bytes and the 16 of its salt, one after the other, for a second
 * database with the same key. Returns SQLITE_OK, SQLITE_NOTFOUND for a plaintext database, or another result code. */
int sqlcipherkit_copy_key(sqlite3 *db, const char *schema, unsigned char *key);

/* Writes the 16 bytes of the salt. PRAGMA cipher_salt returns the same, but ends the use of the database where memory is short.
 * Returns SQLITE_OK, SQLITE_NOTFOUND for a plaintext database, or another result code. */
int sqlcipherkit_copy_salt(sqlite3 *db, const char *schema, unsigned char *salt);

/* 1 if a page with an authentication code was read or written with the key, so that it is the right one for certain; otherwise
 * 0. Reads nothing. */
int sqlcipherkit_is_key_proven(sqlite3 *db, const char *schema);

/* The key of an open database in the form that spares a second connection all derivation: x'…' with the key, the HMAC key if
 * there is one, and the salt, in hexadecimal. Writes up to `capacity` bytes to `text`, without a 0 after them, and their
 * number to *count. Returns SQLITE_OK, SQLITE_NOTFOUND for a database without a key, SQLITE_TOOBIG or SQLITE_NOMEM. */
int sqlcipherkit_derived_key(sqlite3 *db, const char *schema, void *text, int capacity, int *count);
