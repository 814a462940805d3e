/* Random bytes and key derivation from the crypto provider, for which SQLCipher has no public function. No connection is needed. */
#pragma once

#include "sqlite.h"

/* Derives a key from a passphrase with the provider's PBKDF2 (RFC 8018): algorithm 0 is HMAC-SHA1, 1 HMAC-SHA256, 2 HMAC-SHA512.
 * Reads `passphrase` and `salt`, writes key_count bytes to `key`. Returns an SQLite result code. */
int sqlcipherkit_derive_key(int algorithm, const void *passphrase, int passphrase_count, const void *salt, int salt_count,
                            int iterations, void *key, int key_count);

/* Writes random bytes from the provider. Returns an SQLite result code; unless it is SQLITE_OK, `bytes` must not be used. */
int sqlcipherkit_random(void *bytes, int count);
