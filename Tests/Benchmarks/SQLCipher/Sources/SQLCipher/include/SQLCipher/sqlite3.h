/* The C API as GRDB and the C benchmark include it. Whoever imports the module must see the plain names too. */
#ifndef BENCHMARKS_SQLCIPHER_H
#define BENCHMARKS_SQLCIPHER_H

#ifndef SQLCIPHERKIT_PLAIN_SYMBOLS
#define SQLCIPHERKIT_PLAIN_SYMBOLS 1
#endif
#include "../../../../../../../Sources/CSQLCipher/include/options.h"
#include "../../../../../../../Vendor/sqlcipher/sqlite3.h"

#endif
