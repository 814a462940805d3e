/* Random bytes and key derivation from the crypto provider, for which SQLCipher has no public entry. No connection is needed. */
#pragma once

#include "sqlite.h"

/* A key from a passphrase by the provider's PBKDF2 (RFC 8018): algorithm 0 is HMAC-SHA1, 1 HMAC-SHA256, 2 HMAC-SHA512.
 * Reads `passphrase` and `salt`, writes key_count bytes to `key`. Returns an SQLite result code. */
int sqlcipherkit_derive_key(int algorithm, const void *passphrase, int passphrase_count, const void *salt, int salt_count,
                            int iterations, void *key, int key_count);

/* Random bytes from the provider. Returns an SQLite result code; on any but SQLITE_OK nothing may be used of `bytes`. */
int sqlcipherkit_random(void *bytes, int count);
