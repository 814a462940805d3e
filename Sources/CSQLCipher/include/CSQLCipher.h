/* The engine as Swift sees it: SQLite's and SQLCipher's C API under the package's own symbol names. */
#ifndef CSQLCIPHER_H
#define CSQLCIPHER_H

#include "options.h"
#include "symbols.h"
#include "../../../Vendor/sqlcipher/sqlite3.h"
#include "access.h"
#include "changes.h"
#include "logging.h"
#include "shims.h"
#include "provider.h"
#include "key_wrapping.h"
#include "keyring.h"
#include "stack.h"
#include "threads.h"

#endif
