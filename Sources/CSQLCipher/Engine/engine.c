/* The engine: SQLCipher's amalgamation, compiled as it was vendored, as one translation unit.
 *
 * Before it stand the options that no client of the headers may see. Warnings are silenced here and only here:
 * the file is not ours to change.
 */

/* The engine's asserts are slow, and some are reachable by a corrupt file; SQLite says to leave them out of every build
 * but its own tests (https://sqlite.org/assert.html). */
#ifndef NDEBUG
#define NDEBUG 1
#endif

/* What the C library has, as SQLite's own configure script would find it. Without HAVE_STDINT_H the codec does not
 * compile on Linux; without HAVE_USLEEP a busy handler sleeps whole seconds; without HAVE_LOCALTIME_R and HAVE_GMTIME_R
 * dates take a global mutex; without HAVE_PREAD and HAVE_PWRITE a page costs two system calls; fdatasync saves a metadata
 * write on each commit. */
#define HAVE_STDINT_H 1
#define HAVE_INTTYPES_H 1
#define HAVE_USLEEP 1
#define HAVE_PREAD 1
#define HAVE_PWRITE 1
#define HAVE_GMTIME_R 1
#define HAVE_LOCALTIME_R 1
#define HAVE_STRERROR_R 1
#define HAVE_ISNAN 1
#define HAVE_READLINK 1
#define HAVE_LSTAT 1
#ifdef __linux__
#define _GNU_SOURCE 1
#define HAVE_FDATASYNC 1
#define HAVE_MALLOC_H 1
#define HAVE_MALLOC_USABLE_SIZE 1
#endif

/* What the pages are encrypted with: this package's own provider, over LibTomCrypt; or SQLCipher's stock provider for
 * OpenSSL, or (for comparison, in tests and benchmarks) its stock one for LibTomCrypt. */
#if defined(SQLCIPHERKIT_OPENSSL)
#define SQLCIPHER_CRYPTO_OPENSSL 1
#elif defined(SQLCIPHERKIT_STOCK_PROVIDER)
#define SQLCIPHER_CRYPTO_LIBTOMCRYPT 1
#else
#define SQLCIPHER_CRYPTO_CUSTOM sqlcipherkit_provider_setup
#define SQLCIPHERKIT_OWN_PROVIDER 1
#endif

/* The engine prints nothing to standard error unless a program asks for a log (PRAGMA cipher_log). */
#define SQLCIPHER_OMIT_DEFAULT_LOGGING 1

#include "../include/options.h"
#include "../include/symbols.h"

/* Weak, so that the definition in System/secure.c takes the place of SQLCipher's own, which writes byte by byte through a
 * volatile pointer: a twelfth of what opening a database with a raw key takes. */
__attribute__((weak)) void *sqlcipher_memset(void *, unsigned char, unsigned long long);

/* SQLCipher frees its keys and its provider when the process exits, while other threads may still be writing: they would
 * crash, or encrypt with what is left of a key. Ours do nothing, as the memory goes with the process. A name with a
 * parenthesis behind it is the definition, which gets another; alone it is what is to be run. */
static void sqlcipher_atexit(void);
static void sqlcipher_fini(void);
#define sqlcipher_atexit(none) sqlcipherkit_sqlcipher_atexit(none)
#define sqlcipher_fini(none) sqlcipherkit_sqlcipher_fini(none)

#ifdef SQLCIPHERKIT_OWN_PROVIDER
/* The codec likewise: where its name stands alone, as what the pager is to call, it is that of the function in
 * codec.h. */
static void *sqlite3Codec(void *, void *, unsigned int, int);
#define sqlite3Codec(codec, data, number, mode) sqlcipherkit_sqlcipher_codec(codec, data, number, mode)
#endif

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Weverything"
#include "../../../Vendor/sqlcipher/sqlite3.c"
#pragma clang diagnostic pop
#undef sqlite3Codec
#undef sqlcipher_atexit
#undef sqlcipher_fini

static void sqlcipher_atexit(void) {}
static void sqlcipher_fini(void) {}

#include "../include/access.h"
#include "../include/threads.h"
#include "access.h"
#include "../include/changes.h"
#include "changes.h"
#include "../include/logging.h"
#include "logging.h"

#ifdef SQLCIPHERKIT_OWN_PROVIDER
#include "../include/provider.h"
#include "../Provider/Plug/plug.h"
#include "codec.h"
#endif
