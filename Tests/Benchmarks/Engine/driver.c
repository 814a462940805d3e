/* Runs one workload on one database and prints the seconds it took. Compiled once for each engine that is compared:
 *   PEER_PLAIN      SQLite without a codec: keys are left out
 *   PEER_MC         SQLite3 Multiple Ciphers, in its SQLCipher mode
 *   PEER_KIT        this package's own provider: the only one that the argument "without-avx512" means something to
 * and otherwise any SQLCipher.
 *
 *   driver WORKLOAD FILE KEY ROWS [without-avx512]
 *
 * KEY is 0 or 1: which of two raw keys the file has now. ROWS is the size of the large table.
 */
#include "database.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static const char *path;
static int key;
static long rows;

/* About 150 bytes a row, 220 MB for 1.45 million: text that looks different everywhere. */
static void insert_rows(sqlite3 *db, long from, long count) {
    sqlite3_stmt *statement = prepare(db, "INSERT INTO item(id, name, amount, body) VALUES (?, ?, ?, ?)");
    char name[64], body[128];
    run(db, "BEGIN");
    for (long i = from; i < from + count; i++) {
        uint64_t mixed = (uint64_t)i * 0x9e3779b97f4a7c15ULL;
        snprintf(name, sizeof name, "item %ld of %lx", i, (unsigned long)(mixed >> 40));
        snprintf(body, sizeof body, "%016lx and %016lx, then %016lx and in the end %016lx once more", (long)mixed,
                 (long)(mixed * 3), (long)(mixed * 5), (long)(mixed * 7));
        sqlite3_bind_int64(statement, 1, i);
        sqlite3_bind_text(statement, 2, name, -1, SQLITE_STATIC);
        sqlite3_bind_double(statement, 3, (double)(mixed >> 11) / 1e6);
        sqlite3_bind_text(statement, 4, body, -1, SQLITE_STATIC);
        step(statement, SQLITE_DONE);
        sqlite3_reset(statement);
        if (i % 10000 == 9999) {
            run(db, "COMMIT; BEGIN");
        }
    }
    run(db, "COMMIT");
    sqlite3_finalize(statement);
}

static const char table[] = "CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, amount REAL, body TEXT)";

static double prepare_large(void) {
    sqlite3 *db = open_raw(path, key);
    double start = now();
    run(db, "PRAGMA synchronous = OFF");
    run(db, table);
    insert_rows(db, 0, rows);
    sqlite3_close(db);
    return now() - start;
}

static double prepare_small(void) {
    sqlite3 *db = open_passphrase(path);
    double start = now();
    run(db, table);
    insert_rows(db, 0, 100);
    sqlite3_close(db);
    return now() - start;
}

static double open_with_passphrase(void) {
    double start = now();
    sqlite3 *db = open_passphrase(path);
    number(db, "SELECT count(*) FROM sqlite_schema");
    double seconds = now() - start;
    sqlite3_close(db);
    return seconds;
}

static double open_with_raw_key(void) {
    enum { times = 300 };
    double start = now();
    for (int i = 0; i < times; i++) {
        sqlite3 *db = open_raw(path, key);
        number(db, "SELECT count(*) FROM sqlite_schema");
        sqlite3_close(db);
    }
    return (now() - start) / times;
}

static double insert(void) {
    sqlite3 *db = open_raw(path, key);
    run(db, "PRAGMA journal_mode = WAL");
    run(db, "PRAGMA synchronous = NORMAL");
    run(db, table);
    double start = now();
    insert_rows(db, 0, rows / 5 + 1);
    double seconds = now() - start;
    sqlite3_close(db);
    return seconds;
}

static void *scan_once(void *unused) {
    sqlite3 *db = open_raw(path, key);
    run(db, "PRAGMA cache_size = 200");
    number(db, "SELECT sum(length(body)) + sum(amount) FROM item");
    sqlite3_close(db);
    return unused;
}

static double scan(void) {
    double start = now();
    scan_once(NULL);
    return now() - start;
}

static double scan_in_two_threads(void) {
    pthread_t other;
    double start = now();
    pthread_create(&other, NULL, scan_once, NULL);
    scan_once(NULL);
    pthread_join(other, NULL);
    return now() - start;
}

/* Rows at random, all over the file. */
static double look_up(const char *settings) {
    sqlite3 *db = open_raw(path, key);
    run(db, settings);
    sqlite3_stmt *statement = prepare(db, "SELECT body FROM item WHERE id = ?");
    uint64_t random = 1;
    long count = rows / 8 + 1;
    double start = now();
    for (long i = 0; i < count; i++) {
        random = random * 6364136223846793005ULL + 1442695040888963407ULL;
        sqlite3_bind_int64(statement, 1, (sqlite3_int64)((random >> 33) % (uint64_t)rows));
        step(statement, SQLITE_ROW);
        sqlite3_reset(statement);
    }
    double seconds = now() - start;
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return seconds;
}

/* A vocabulary in which the n-th word is n times rarer than the first, as in natural text. */
static void write_words(char *text, size_t size, uint64_t *random, int count) {
    size_t at = 0;
    for (int i = 0; i < count && at + 12 < size; i++) {
        *random = *random * 6364136223846793005ULL + 1442695040888963407ULL;
        double part = (double)(*random >> 11) / 9007199254740992.0;
        double power = 1;
        for (int bit = 0; bit < 13; bit++) { /* 8192 to the power of `part`, by its binary digits */
            power *= part * 13 >= bit + 1 ? 2 : 1;
        }
        unsigned word = (unsigned)(power * (1 + part)) + (unsigned)(*random % 7);
        at += (size_t)snprintf(text + at, size - at, "word%u ", word);
    }
}

static double build_index(void) {
    sqlite3 *db = open_raw(path, key);
    run(db, "PRAGMA journal_mode = WAL");
    run(db, "PRAGMA synchronous = NORMAL");
    double start = now();
    run(db, "CREATE VIRTUAL TABLE text USING fts5(title, body)");
    sqlite3_stmt *statement = prepare(db, "INSERT INTO text(title, body) VALUES (?, ?)");
    uint64_t random = 7;
    char title[128], body[512];
    run(db, "BEGIN");
    for (long i = 0; i < rows / 15 + 1; i++) {
        write_words(title, sizeof title, &random, 5);
        write_words(body, sizeof body, &random, 40);
        sqlite3_bind_text(statement, 1, title, -1, SQLITE_STATIC);
        sqlite3_bind_text(statement, 2, body, -1, SQLITE_STATIC);
        step(statement, SQLITE_DONE);
        sqlite3_reset(statement);
        if (i % 5000 == 4999) {
            run(db, "COMMIT; BEGIN");
        }
    }
    run(db, "COMMIT");
    sqlite3_finalize(statement);
    double seconds = now() - start;
    sqlite3_close(db);
    return seconds;
}

static double query_index(void) {
    sqlite3 *db = open_raw(path, key);
    sqlite3_stmt *statement =
        prepare(db, "SELECT rowid, title FROM text WHERE text MATCH ? ORDER BY bm25(text) LIMIT 10");
    char query[64];
    double start = now();
    for (int i = 0; i < 400; i++) {
        snprintf(query, sizeof query, "word%d word%d", 20 + i * 7 % 400, 100 + i * 13 % 900);
        sqlite3_bind_text(statement, 1, query, -1, SQLITE_STATIC);
        while (sqlite3_step(statement) == SQLITE_ROW) {
        }
        sqlite3_reset(statement);
    }
    double seconds = now() - start;
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return seconds;
}

static double vacuum(void) {
    sqlite3 *db = open_raw(path, key);
    double start = now();
    run(db, "VACUUM");
    double seconds = now() - start;
    sqlite3_close(db);
    return seconds;
}

static double change_key(void) {
    sqlite3 *db = open_raw(path, key);
    number(db, "SELECT count(*) FROM sqlite_schema");
    double start = now();
    rekey(db, !key);
    double seconds = now() - start;
    sqlite3_close(db);
    return seconds;
}

int main(int count, char **arguments) {
    if (count < 5) {
        fputs("usage: driver WORKLOAD FILE KEY ROWS [without-avx512]\n", stderr);
        return 2;
    }
    const char *workload = arguments[1];
    path = arguments[2];
    key = atoi(arguments[3]);
    rows = atol(arguments[4]);
    if (count > 5) {
        leave_out_avx512();
    }
    sqlite3_initialize();
#define WORKLOAD(name, call)                                                                                           \
    if (strcmp(workload, name) == 0) {                                                                                 \
        printf("%.9f\n", call);                                                                                        \
        return 0;                                                                                                      \
    }
    WORKLOAD("prepare-large", prepare_large())
    WORKLOAD("prepare-small", prepare_small())
    WORKLOAD("open-passphrase", open_with_passphrase())
    WORKLOAD("open-raw", open_with_raw_key())
    WORKLOAD("insert", insert())
    WORKLOAD("scan", scan())
    WORKLOAD("scan-2-threads", scan_in_two_threads())
    WORKLOAD("lookup-small-cache", look_up("PRAGMA cache_size = 100"))
    WORKLOAD("lookup-default", look_up(""))
    WORKLOAD("fts-build", build_index())
    WORKLOAD("fts-query", query_index())
    WORKLOAD("rekey", change_key())
    WORKLOAD("vacuum", vacuum())
    fprintf(stderr, "driver: no workload '%s'\n", workload);
    return 2;
}
