#include "sqlite3.h"

int sqlite3_twice_init(sqlite3 *, char **, const sqlite3_api_routines *);
