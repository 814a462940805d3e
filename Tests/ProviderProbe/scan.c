/* A connection that reads page after page has HMACs computed ahead. Each page must still be judged by its own bytes: a
 * change to any one of them is found, on that page and no other, and what another connection writes is seen. */
#include "database.h"
#include "probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* About thirty pages, whatever their size. */
static sqlite3 *fill(const char *path, int page_size, char *settings, size_t settings_size) {
    char sql[300];
    remove(path);
    snprintf(settings, settings_size, "PRAGMA cipher_page_size = %d; PRAGMA kdf_iter = 10", page_size);
    sqlite3 *db = open_database(path, "key", 3, settings);
    snprintf(sql, sizeof sql,
             "CREATE TABLE t(x); WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 90) "
             "INSERT INTO t SELECT zeroblob(%d) FROM n",
             page_size / 4);
    return db == NULL || run_sql(db, sql) != SQLITE_OK ? NULL : db;
}

/* Exchanges the bytes of two places in a file. */
static void swap_bytes(const char *path, long one, long other, size_t size) {
    unsigned char *bytes = malloc(2 * size);
    read_file(path, one, bytes, size);
    read_file(path, other, bytes + size, size);
    FILE *file = fopen(path, "r+b");
    fseek(file, one, SEEK_SET);
    fwrite(bytes + size, 1, size, file);
    fseek(file, other, SEEK_SET);
    fwrite(bytes, 1, size, file);
    fclose(file);
    free(bytes);
}

/* The number of pages that cipher_integrity_check finds wrong; `last` is set to the number of the last one. */
static int wrong_pages(const char *path, const char *settings, int *last) {
    sqlite3 *db = open_database(path, "key", 3, settings);
    sqlite3_stmt *statement = NULL;
    int count = 0;
    *last = 0;
    if (sqlite3_prepare_v2(db, "PRAGMA cipher_integrity_check", -1, &statement, NULL) != SQLITE_OK) {
        count = -1;
    }
    while (count >= 0 && sqlite3_step(statement) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(statement, 0);
        *last = atoi(strrchr(text, ' ') + 1);
        count++;
    }
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return count;
}

static int check_pages(const char *path, int page_size) {
    char settings[120];
    int wrong = 0, last;
    uint64_t seed = (uint64_t)page_size;
    sqlite3 *db = fill(path, page_size, settings, sizeof settings);
    int pages = (int)number_of(db, "PRAGMA page_count");
    sqlite3_close(db);
    wrong |= pages < 20 || wrong_pages(path, settings, &last) != 0;
    for (int page = 1; page <= pages; page++) {
        /* Two neighbouring bytes, almost always different ones, change places; then they change back. */
        long at = (long)(page - 1) * page_size + 16 + (long)(next_number(&seed) % (uint64_t)(page_size - 20));
        unsigned char bytes[2];
        read_file(path, at, bytes, 2);
        swap_bytes(path, at, at + 1, 1);
        int found = wrong_pages(path, settings, &last);
        swap_bytes(path, at, at + 1, 1);
        if (bytes[0] != bytes[1] && (found != 1 || last != page)) {
            printf("page size %d: page %d of %d was changed, %d found wrong, the last %d\n", page_size, page, pages,
                   found, last);
            wrong = 1;
        }
    }
    /* Two intact pages in each other's place are both wrong. */
    swap_bytes(path, 6L * page_size, 9L * page_size, (size_t)page_size);
    wrong |= wrong_pages(path, settings, &last) != 2 || last != 10;
    return wrong;
}

/* One connection reads row by row while another writes over what the first one has read ahead. */
static int check_writer(const char *path, const char *journal) {
    char settings[120], sql[200];
    int wrong = 0;
    sqlite3 *reader = fill(path, 4096, settings, sizeof settings);
    snprintf(sql, sizeof sql, "PRAGMA journal_mode = %s", journal);
    wrong |= run_sql(reader, sql) != SQLITE_OK || run_sql(reader, "PRAGMA cache_size = 2") != SQLITE_OK;
    sqlite3 *writer = open_database(path, "key", 3, settings);
    for (int round = 0; round < 26 && !wrong; round++) {
        /* Every row becomes the round's letter, 1,024 times: in the same pages as before. */
        snprintf(sql, sizeof sql, "UPDATE t SET x = replace(hex(zeroblob(512)), '0', '%c')", 'a' + round);
        wrong |= run_sql(writer, sql) != SQLITE_OK;
        /* In WAL mode every second round is read from the log, the others from the file that it was copied into. */
        wrong |= round % 2 == 0 && run_sql(writer, "PRAGMA wal_checkpoint(TRUNCATE)") != SQLITE_OK;
        snprintf(sql, sizeof sql, "SELECT count(*) FROM t WHERE x = replace(hex(zeroblob(512)), '0', '%c')", 'a' + round);
        wrong |= number_of(reader, sql) != 90;
    }
    sqlite3_close(reader);
    sqlite3_close(writer);
    remove(path);
    if (wrong) {
        printf("a reader beside a writer, journal mode %s: wrong\n", journal);
    }
    return wrong;
}

/* A page that changes on the disk after it was read ahead, and before SQLite reads it, is found like any other. */
static int check_late_change(const char *path) {
    char settings[120];
    int wrong = 0;
    sqlite3 *db = fill(path, 4096, settings, sizeof settings);
    int pages = (int)number_of(db, "PRAGMA page_count");
    sqlite3_close(db);
    for (int rows = 20; rows < 60; rows++) {
        sqlite3_stmt *statement = NULL;
        /* Three rows to a page; row 1 is on the third one. From one to seven pages beyond the row that was read last. */
        const int page = 2 + (rows - 1) / 3 + 1 + rows % 7;
        const long place = page * 4096L + 2000; /* within a row's bytes: SQLite itself would not notice */
        unsigned char bytes[2];
        int code = SQLITE_ROW;
        if (page >= pages || read_file(path, place, bytes, 2) != 0 || bytes[0] == bytes[1]) {
            continue;
        }
        db = open_database(path, "key", 3, settings);
        wrong |= run_sql(db, "PRAGMA cache_size = 2") != SQLITE_OK;
        wrong |= sqlite3_prepare_v2(db, "SELECT x FROM t", -1, &statement, NULL) != SQLITE_OK;
        for (int i = 0; i < rows; i++) {
            wrong |= sqlite3_step(statement) != SQLITE_ROW;
        }
        swap_bytes(path, place, place + 1, 1);
        while (code == SQLITE_ROW) {
            code = sqlite3_step(statement);
        }
        swap_bytes(path, place, place + 1, 1);
        wrong |= code == SQLITE_DONE;
        sqlite3_finalize(statement);
        sqlite3_close(db);
    }
    if (wrong) {
        printf("a change after a page was read ahead was not found\n");
    }
    return wrong;
}

int run_scan(const char *folder) {
    const char *path = path_in(folder, "scan.db");
    int wrong = 0;
    for (int page_size = 1024; page_size <= 65536; page_size *= 2) {
        wrong |= check_pages(path, page_size);
    }
    wrong |= check_late_change(path) | check_writer(path, "DELETE") | check_writer(path, "WAL");
    printf("scan: %s\n", wrong ? "WRONG" : "every change is found");
    return wrong;
}
