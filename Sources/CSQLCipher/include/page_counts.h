/* How many pages a database has, and should have. */
#pragma once

#include "sqlite.h"

/* The number of pages that a database's header declares (https://sqlite.org/fileformat2.html, offset 28), and of those that are
 * there, in the file or its write-ahead log. SQLite itself refuses every statement on a file that lacks some.
 * Returns an SQLite result code; writes both numbers on SQLITE_OK. */
int sqlcipherkit_page_counts(sqlite3 *db, const char *schema, unsigned int *declared, unsigned int *present);

/* Whether a page of the database file, counted from 1, can be read and matches its authentication code, if it has one. The
 * write-ahead log is not looked at, and no lock is taken. Returns SQLITE_OK, SQLITE_CORRUPT for another code,
 * SQLITE_IOERR_SHORT_READ behind the end of the file, or what kept the page from being read. */
int sqlcipherkit_check_page(sqlite3 *db, const char *schema, unsigned int number);

/* The size of a database's pages, in bytes, how much of each holds content, and the number of pages in the file or its
 * write-ahead log. Nothing of the header is believed that an authentication code does not cover. Returns an SQLite result code. */
int sqlcipherkit_page_layout(sqlite3 *db, const char *schema, int *size, int *usable, unsigned int *count);

/* Copies a page, counted from 1, decrypted, to `bytes`, which has room for one. Returns SQLITE_OK, SQLITE_CORRUPT for a damaged or
 * missing page (SQLITE_NOTADB for the first), or what kept it from being read. */
int sqlcipherkit_copy_page(sqlite3 *db, const char *schema, unsigned int number, void *bytes);

/* Decrypts the bytes of a page, counted from 1, that were found in a file: an old one of the database, its log or its journal. They
 * are as many as a page has. Returns SQLITE_OK, also for a plaintext database, SQLITE_CORRUPT if the key does not fit, or another
 * code; the bytes are what they were then. */
int sqlcipherkit_decrypt_image(sqlite3 *db, const char *schema, unsigned int number, void *bytes);
