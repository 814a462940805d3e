/* Gives every symbol of the engine the prefix sqlcipherkit_, in the objects and in Swift's calls, so that this engine can be in one
 * process with another SQLite. Must be included before the engine's declarations.
 *
 * scripts/vendor generates the list from the source that it belongs to. SQLCIPHERKIT_PLAIN_SYMBOLS keeps the plain names, for the
 * product SQLCipher.
 */
#pragma once

#if !__has_include("../../../Vendor/sqlcipher/sqlite3.h") || !__has_include("../../../Vendor/sqlcipher/symbols.h")
#error "SQLCipherKit: the engine's source is missing. Run ./scripts/setup (or only ./scripts/vendor) in the package's folder."
#elif !defined(SQLCIPHERKIT_PLAIN_SYMBOLS)
#include "../../../Vendor/sqlcipher/symbols.h"
#endif
