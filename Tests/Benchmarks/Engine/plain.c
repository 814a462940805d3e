/* SQLite from upstream's own source without its codec, with this package's options otherwise: what encryption is compared
 * with. */
#define NDEBUG 1
#define HAVE_STDINT_H 1
#define HAVE_USLEEP 1
#define HAVE_PREAD 1
#define HAVE_PWRITE 1
#define HAVE_GMTIME_R 1
#define HAVE_LOCALTIME_R 1
#define HAVE_MALLOC_USABLE_SIZE 1
#ifdef __linux__
#define _GNU_SOURCE 1
#define HAVE_FDATASYNC 1
#define HAVE_MALLOC_H 1
#endif

#include "../../../Sources/CSQLCipher/Engine/options.h"
#undef SQLITE_HAS_CODEC
#undef SQLITE_EXTRA_INIT
#undef SQLITE_EXTRA_SHUTDOWN
#include "../../../Sources/CSQLCipher/include/symbols.h"

#pragma clang diagnostic ignored "-Weverything"
#include <sqlite3.c>
