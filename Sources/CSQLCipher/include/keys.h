/* The key of an open database. */
#pragma once

#include "guard.h"
#include "sqlite.h"

/* Writes the 32 bytes of an open database's key and the 16 bytes of its salt, one after the other, for a second database with the
 * same key. Returns SQLITE_OK, SQLITE_NOTFOUND for a plaintext database, or another result code. */
int sqlcipherkit_copy_key(sqlite3 *db, const char *schema, unsigned char *key);

/* The encryption of an open database. The texts are the engine's own. */
typedef struct sqlcipherkit_cipher_info {
    sqlcipherkit_cipher_settings settings;
    unsigned char salt[16];
    const char *version;
    const char *name;
    const char *provider;
    const char *provider_version;
} sqlcipherkit_cipher_info;

/* Reads what SQLCipher's pragmas return, but without a statement: when memory is short, the pragmas return nothing, and cipher_salt
 * makes the database unusable. Returns SQLITE_OK, SQLITE_NOTFOUND for a plaintext database, or another result code. */
int sqlcipherkit_read_cipher(sqlite3 *db, const char *schema, sqlcipherkit_cipher_info *cipher);

/* 1 if a page with an authentication code was read or written with the key, which proves that the key is right; otherwise 0. Reads
 * nothing. */
int sqlcipherkit_is_key_proven(sqlite3 *db, const char *schema);

/* Writes the key of an open database in the form that saves a second connection all derivation: x'…' with the key, the HMAC key if
 * there is one, and the salt, in hexadecimal. Writes up to `capacity` bytes to `text`, without a 0 after them, and their number to
 * *count. Returns SQLITE_OK, SQLITE_NOTFOUND for a database without a key, SQLITE_TOOBIG or SQLITE_NOMEM. */
int sqlcipherkit_derived_key(sqlite3 *db, const char *schema, void *text, int capacity, int *count);
