/* In place of SQLite's sqlite3ext.h: an extension that is compiled into a program calls the engine itself, as SQLite's own do with
 * SQLITE_CORE, and needs no table of functions. */
#pragma once
#include "sqlite3.h"

#ifndef SQLITE_CORE
#define SQLITE_CORE 1
#endif
#define SQLITE_EXTENSION_INIT1
#define SQLITE_EXTENSION_INIT2(api) (void)(api);
#define SQLITE_EXTENSION_INIT3
