/* The library for the primitives that this package's kernels do not provide: SHA-1 and SHA-256, AES for CPUs without AES
 * instructions, and SHA-512 in unoptimised builds. It is chosen when the package is compiled, by one of:
 *
 *   SQLCIPHERKIT_USES_OPENSSL       the trait OpenSSL, on every platform; the engine then has SQLCipher's own provider for OpenSSL
 *   SQLCIPHERKIT_USES_COMMONCRYPTO  Apple's platforms: part of the system (elsewhere only in scripts/workshop/check-provider)
 *   SQLCIPHERKIT_USES_LIBTOMCRYPT   Linux with the trait LibTomCrypt, which is on by default
 *   SQLCIPHERKIT_USES_PORTABLE      everywhere else: the C of this folder, which needs nothing
 *
 * Each of these primitives has a header here and a file for each library; the file for the others ends in _portable.c.
 * BLAKE2b and ChaCha20-Poly1305 are this package's plain C on every platform.
 */
#pragma once

#if defined(SQLCIPHERKIT_OPENSSL)
#define SQLCIPHERKIT_USES_OPENSSL 1
#elif defined(__APPLE__) || defined(SQLCIPHERKIT_COMMONCRYPTO)
#define SQLCIPHERKIT_USES_COMMONCRYPTO 1
#elif defined(SQLCIPHERKIT_LIBTOMCRYPT)
#define SQLCIPHERKIT_USES_LIBTOMCRYPT 1
#if !__has_include(<tomcrypt.h>)
#error "tomcrypt.h is missing: install LibTomCrypt (libtomcrypt-dev), or build without the default traits, which needs no library"
#endif
#else
#define SQLCIPHERKIT_USES_PORTABLE 1
#endif

/* The library's name as PRAGMA cipher_provider returns it, and as people write it. With OpenSSL's provider for pages, the engine
 * itself returns "openssl". */
#if defined(SQLCIPHERKIT_USES_LIBTOMCRYPT)
#define SQLCIPHERKIT_LIBRARY_PROVIDER "libtomcrypt"
#define SQLCIPHERKIT_LIBRARY_NAME "LibTomCrypt"
#elif defined(SQLCIPHERKIT_USES_COMMONCRYPTO)
#define SQLCIPHERKIT_LIBRARY_PROVIDER "commoncrypto"
#define SQLCIPHERKIT_LIBRARY_NAME "CommonCrypto"
#else
#define SQLCIPHERKIT_LIBRARY_PROVIDER "portable"
#define SQLCIPHERKIT_LIBRARY_NAME "portable C"
#endif

/* The version of the library that this was compiled with; "" if it has none that a program could query. */
const char *sqlcipherkit_library_version(void);
