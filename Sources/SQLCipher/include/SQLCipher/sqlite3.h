/* SQLite's and SQLCipher's C API under its plain names, with the options of this build, for `#include <SQLCipher/sqlite3.h>` and
 * `import SQLCipher`. A plain SQLite in the same program has the same names: link one or the other. */
#pragma once

#ifndef SQLCIPHERKIT_PLAIN_SYMBOLS
#define SQLCIPHERKIT_PLAIN_SYMBOLS 1
#endif
#if !__has_include("../../../../Vendor/sqlcipher/sqlite3.h")
#error "SQLCipherKit: the engine's source is missing. Run ./scripts/setup (or only ./scripts/vendor) in the package's folder."
#endif
#include "../../../CSQLCipher/Engine/options.h"
#include "../../../../Vendor/sqlcipher/sqlite3.h"
