/* SQLite's C interface as this package's engine has it, for the C sources of an extension that is compiled into a program. */
#pragma once
#include "../../CSQLCipher/include/sqlite.h"
