/* Opening and filling databases, for the commands that need whole files. */
#ifndef PROVIDER_PROBE_DATABASE_H
#define PROVIDER_PROBE_DATABASE_H

#include "CSQLCipher.h"

#include <stddef.h>

/* Runs SQL; on an error says which statement failed, and returns the result code. */
int run_sql(sqlite3 *db, const char *sql);

/* Runs SQL whose first column of the first row is a number, and returns that, or -1. */
long long number_of(sqlite3 *db, const char *sql);

/* Opens `path` with a key (bytes, as sqlite3_key_v2 takes them) and settings in SQL. NULL on error. */
sqlite3 *open_database(const char *path, const void *key, int key_size, const char *settings);

/* "folder/name" in a static buffer, good until the second call after. */
const char *path_in(const char *folder, const char *name);

/* The first `size` bytes of a file from `offset`; 0 when they could be read. */
int read_file(const char *path, long offset, void *bytes, size_t size);

#endif
