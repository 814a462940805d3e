/* SQLite's and SQLCipher's C API with this build's options and symbol names. */
#pragma once

#include "options.h"
#include "symbols.h"
#include "../../../Vendor/sqlcipher/sqlite3.h"
