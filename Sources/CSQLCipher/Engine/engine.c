/* The engine: SQLCipher's amalgamation with the patches of Vendor/patches, as one translation unit.
 *
 * The options before it are those that no client of the headers may see. Warnings are silenced only here. A patch gives a function
 * of the amalgamation the name upstream_FUNCTION, and the fragments after it define their own FUNCTION.
 */

/* The engine's asserts are slow, and a corrupt file can trigger some of them. SQLite says to leave them out of every build except
 * its own tests (https://sqlite.org/assert.html). */
#ifndef NDEBUG
#define NDEBUG 1
#endif

/* The features of the C library, as SQLite's own configure script would find them. Without HAVE_STDINT_H the codec does not
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

/* The provider that encrypts pages: this package's own, SQLCipher's stock provider for OpenSSL, or (for comparison, in tests and
 * benchmarks) its stock provider for LibTomCrypt. */
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

/* SQLCipher writes nothing to the system's log on Apple's platforms and Android: it marks its messages there as public, including
 * the statements of a profile. */
#define SQLCIPHER_OMIT_LOG_DEVICE 1

#ifdef SQLCIPHERKIT_PLAIN_SYMBOLS
#include "plain.h"
#endif
#include "options.h"
#include "../include/symbols.h"

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Weverything"
#include "../../../Vendor/sqlcipher/sqlite3.c"
#pragma clang diagnostic pop
#include "reviewed.h"

/* One aspect each. ENGINE.md lists the private functions and fields of SQLite and SQLCipher that they use. */
#include "schemas.h"
#include "reader.h"
/* These replace functions of the engine: an unused one no longer replaces anything. */
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wunused-function"
#include "reads.h"
#include "free_pages.h"
#include "full_text.h"
#include "rekey.h"
#include "replaced_rows.h"
#include "altered_tables.h"
#include "word_letters.h"
#include "words.h"
#include "files.h"
#include "durability.h"
#include "waiting.h"
#ifndef SQLCIPHERKIT_PLAIN_SYMBOLS
#include "work_limits.h"
#endif
#include "start.h"
#include "opening.h"
#pragma GCC diagnostic pop
#include "fork.h"

/* The functions that the Swift layer calls. */
#ifndef SQLCIPHERKIT_PLAIN_SYMBOLS
#include "tokens.h"
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wunused-function"
#include "vacuum.h"
#pragma GCC diagnostic pop
#include "columns.h"
#include "primitives.h"
#include "keys.h"
#include "page_counts.h"
#include "replay.h"
#include "query_only.h"
#include "settings.h"
#include "interrupts.h"
#include "functions.h"
#include "constraints.h"
#include "transactions.h"
#include "trees.h"
#include "guard_state.h"
#include "snapshots.h"
#include "logging.h"
#include "full_text_words.h"
#include "full_text_segment.h"
#include "full_text_terms.h"
#include "full_text_check.h"
#include "full_text_near.h"
#include "full_text_loaded.h"
#include "full_text_lists.h"
#include "full_text_row.h"
#include "full_text_match.h"
/* An unused function here would no longer be called in place of the one that it guards. */
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wunused-function"
#include "recorded_rows.h"
#include "changes.h"
#include "blobs.h"
#include "recorder.h"
#include "recording.h"
#include "access.h"
#include "guard.h"
#include "guarded_pragmas.h"
#include "slot_mark.h"
#pragma GCC diagnostic pop
#endif

#ifdef SQLCIPHERKIT_OWN_PROVIDER
#include "../Provider/Plug/plug.h"
#endif
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wunused-function"
#include "codec.h"
#pragma GCC diagnostic pop
