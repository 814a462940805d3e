/* Opening, keying and attaching for the Swift layer, whose connections refuse every other way to set a key. */
#pragma once

#include "sqlite.h"

/* The encryption of a database, apart from its key. Sizes are in bytes; the algorithms are 0 for SHA-1, 1 for SHA-256, 2 for
 * SHA-512. The values are not checked here: CipherConfiguration.validate does that. */
typedef struct sqlcipherkit_cipher_settings {
    int page_size;
    int kdf_iterations;
    int kdf_algorithm;
    int hmac_algorithm;
    int uses_hmac;
    int plaintext_header_size;
    int uses_memory_security;
} sqlcipherkit_cipher_settings;

/* Opens a guarded connection, like sqlite3_open_v2. On such a connection no SQL sets a key or a cipher setting, of a database or of
 * the process, or reaches SQLCipher's log: a statement that would do so is not compiled (SQLITE_AUTH, with a message that names the
 * Swift call). Pragmas that set something else act when they are stepped, not when they are compiled. A URI with a key gives
 * SQLITE_AUTH and opens nothing. Other connections of the process are not affected. */
int sqlcipherkit_open(const char *name, sqlite3 **db, int flags);

/* Sets whether statements are refused that would make the connection differ from others used in its place: ATTACH, DETACH and the
 * creation of temporary objects (SQLITE_MISUSE, with a message that names the Swift call). 1 for yes, 0 for no. */
enum { SQLCIPHERKIT_ATTACHES_FOR_ALL = 2 }; /* Yes, but ATTACH and DETACH are allowed, as the caller repeats them on the others. */
void sqlcipherkit_set_one_of_many(sqlite3 *db, int is_one_of_many);

/* Returns SQLITE_AUTH for a URI that contains a key, however it is escaped; SQLITE_OK for any other location; SQLITE_NOMEM. */
int sqlcipherkit_check_location(const char *location);

/* Returns whether SQLite has a pragma of that name, or SQLCipher one that a guarded connection may read. */
int sqlcipherkit_is_pragma(const char *name);

/* Sets the key of a database that is open and not yet read, in the form that sqlite3_key_v2 takes, with every cipher setting: none
 * comes from the defaults of the process. */
int sqlcipherkit_key(sqlite3 *db, const char *schema, const void *key, int count, const sqlcipherkit_cipher_settings *cipher);

/* Attaches a database with a key and all cipher settings, or a plaintext database if `cipher` is NULL. SQLITE_AUTH for a URI with a
 * key. */
int sqlcipherkit_attach(sqlite3 *db, const char *location, const char *name, const void *key, int count,
                        const sqlcipherkit_cipher_settings *cipher);

/* Detaches a database without a statement, which SQLite prepares only once it has read all schemas. SQLITE_ERROR while the database
 * is in use. */
int sqlcipherkit_detach(sqlite3 *db, const char *name);
