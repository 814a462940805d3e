/* The number of pages that a database has, and the number that it should have. */
#pragma once

#include "sqlite.h"

/* The number of pages that a database's header declares (https://sqlite.org/fileformat2.html, offset 28), and the number of pages
 * that are present, in the file or its write-ahead log. SQLite itself refuses every statement on a file with missing pages.
 * Returns an SQLite result code; writes both numbers on SQLITE_OK. */
int sqlcipherkit_page_counts(sqlite3 *db, const char *schema, unsigned int *declared, unsigned int *present);

/* Checks that a page of the database file, counted from 1, can be read and matches its authentication code, if it has one. The
 * write-ahead log is not read, and no lock is taken. Returns SQLITE_OK, SQLITE_CORRUPT if the code does not match,
 * SQLITE_IOERR_SHORT_READ beyond the end of the file, or the error of reading the page. */
int sqlcipherkit_check_page(sqlite3 *db, const char *schema, unsigned int number);

/* Lets a connection read the pages of a database without checking their authentication codes, for a file all of whose pages are
 * checked by sqlcipherkit_check_page beside that. The connection can no longer write. Returns SQLITE_MISUSE in a transaction, or if
 * the database is not encrypted. */
int sqlcipherkit_skip_page_checks(sqlite3 *db, const char *schema);

/* Returns whether the write-ahead log has a page, counted from 1, so that the one in the file is not read. 0 also if that is
 * unknown. */
int sqlcipherkit_is_page_in_log(sqlite3 *db, const char *schema, unsigned int number);

/* The size of a database's pages, in bytes, the usable bytes of each, and the number of pages in the file or its write-ahead log.
 * No field of the header is relied on unless an authentication code covers it. Returns an SQLite result code. */
int sqlcipherkit_page_layout(sqlite3 *db, const char *schema, int *size, int *usable, unsigned int *count);

/* Copies a decrypted page, counted from 1, to `bytes`, which has room for one. Returns SQLITE_OK, SQLITE_CORRUPT for a damaged or
 * missing page (SQLITE_NOTADB for the first), or the error of reading it. */
int sqlcipherkit_copy_page(sqlite3 *db, const char *schema, unsigned int number, void *bytes);

/* Decrypts the bytes of a page, counted from 1, that were found in a file: an old copy of the database, its log or its journal.
 * `bytes` has the size of a page. Returns SQLITE_OK, also for a plaintext database, SQLITE_CORRUPT if the key does not fit, or
 * another code; then the bytes are unchanged. */
int sqlcipherkit_decrypt_image(sqlite3 *db, const char *schema, unsigned int number, void *bytes);
