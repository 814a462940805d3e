/* SQLite's and SQLCipher's C API with this build's options and symbol names. */
#pragma once

#include "options.h"
#include "symbols.h"

/* A Swift program may also import a module with another SQLite, or a package that does. If two modules declare a function alike,
 * the compiler takes them for one function, and calls whichever it saw first. Functions with different conditions are never the
 * same; this condition always holds. Variables cannot have conditions, and get the names of their symbols. */
#ifndef SQLITE3_H
#define SQLITE_API __attribute__((enable_if(1, "is SQLCipherKit's")))
#define sqlite3_version sqlcipherkit_sqlite3_version
#define sqlite3_temp_directory sqlcipherkit_sqlite3_temp_directory
#define sqlite3_data_directory sqlcipherkit_sqlite3_data_directory
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wignored-attributes"
#include "../../../Vendor/sqlcipher/sqlite3.h"
#pragma clang diagnostic pop
#undef sqlite3_version
#undef sqlite3_temp_directory
#undef sqlite3_data_directory
#undef SQLITE_API
#endif
