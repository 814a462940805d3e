/* Opening, keying and attaching for the Swift layer, whose connections refuse all other ways to a key. */
#pragma once

#include "sqlite.h"

/* How a database is encrypted, apart from its key. Sizes are in bytes; the algorithms are 0 for SHA-1, 1 for SHA-256, 2 for
 * SHA-512. The values are trusted: CipherConfiguration.validate checks them. */
typedef struct sqlcipherkit_cipher_settings {
    int page_size;
    int kdf_iterations;
    int kdf_algorithm;
    int hmac_algorithm;
    int uses_hmac;
    int plaintext_header_size;
    int uses_memory_security;
} sqlcipherkit_cipher_settings;

/* sqlite3_open_v2 for a guarded connection. On such a connection no SQL sets a key or a cipher setting, of a database or of the
 * process, or reaches SQLCipher's log: a statement that would is not compiled (SQLITE_AUTH, with a message that names the Swift
 * call). Pragmas that set something else act when they are stepped, not when they are compiled. A URI with a key gives SQLITE_AUTH
 * and opens nothing. Other connections of the process are not touched. */
int sqlcipherkit_open(const char *name, sqlite3 **db, int flags);

/* Whether statements that would make the connection differ from others that are used in its place are refused: ATTACH, DETACH and
 * the creation of what is temporary (SQLITE_MISUSE, with a message that names the Swift call). 1 for yes, 0 for no. */
enum { SQLCIPHERKIT_ATTACHES_FOR_ALL = 2 }; /* Yes, but ATTACH and DETACH are then done on the others too. */
void sqlcipherkit_set_one_of_many(sqlite3 *db, int is_one_of_many);

/* SQLITE_AUTH for a URI with a key in it, however it is escaped; SQLITE_OK for another location; SQLITE_NOMEM. */
int sqlcipherkit_check_location(const char *location);

/* Whether SQLite has a pragma of that name, or SQLCipher one that a guarded connection may read. */
int sqlcipherkit_is_pragma(const char *name);

/* The key of a database that is open and not yet read, as sqlite3_key_v2 takes it, with every cipher setting: none comes from the
 * defaults of the process. */
int sqlcipherkit_key(sqlite3 *db, const char *schema, const void *key, int count, const sqlcipherkit_cipher_settings *cipher);

/* ATTACH with a key and all cipher settings, or with NULL for a plaintext database. SQLITE_AUTH for a URI with a key. */
int sqlcipherkit_attach(sqlite3 *db, const char *location, const char *name, const void *key, int count,
                        const sqlcipherkit_cipher_settings *cipher);
