/* The differences between the compared engines, and calls that end the program when they fail: a benchmark that
 * goes on after an error measures nothing. */
#ifndef BENCHMARK_DATABASE_H
#define BENCHMARK_DATABASE_H

#if defined(PEER_MC)
#define SQLITE_HAS_CODEC 1
#include "../../../Vendor/sqlcipher/sqlite3.h"
#else
#include "../../../Sources/CSQLCipher/include/CSQLCipher.h"
#endif
#if defined(PEER_KIT)
#include "../../../Sources/CSQLCipher/Provider/Kernels/kernels.h"
#endif

#include <stdio.h>
#include <stdlib.h>

static inline void must(int holds, sqlite3 *db, const char *what) {
    if (!holds) {
        fprintf(stderr, "driver: %s: %s\n", what, sqlite3_errmsg(db));
        _Exit(1); /* the other thread may be at work */
    }
}

static inline void run(sqlite3 *db, const char *sql) {
    must(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, db, sql);
}

static inline sqlite3_stmt *prepare(sqlite3 *db, const char *sql) {
    sqlite3_stmt *statement = NULL;
    must(sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) == SQLITE_OK, db, sql);
    return statement;
}

static inline void step(sqlite3_stmt *statement, int expected) {
    must(sqlite3_step(statement) == expected, sqlite3_db_handle(statement), sqlite3_sql(statement));
}

static inline double number(sqlite3 *db, const char *sql) {
    sqlite3_stmt *statement = prepare(db, sql);
    step(statement, SQLITE_ROW);
    double value = sqlite3_column_double(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

static inline sqlite3 *open_plain(const char *path) {
    sqlite3 *db = NULL;
    must(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL) ==
                 SQLITE_OK,
         db, "open");
#if defined(PEER_MC)
    run(db, "PRAGMA cipher = 'sqlcipher'; PRAGMA legacy = 4");
#endif
    return db;
}

static inline const char *raw_key(int which) {
    static const char *const keys[2] = {
        "x'00112233445566778899aabbccddeeff0123456789abcdeffedcba9876543210'",
        "x'f0e1d2c3b4a5968778695a4b3c2d1e0f00ff11ee22dd33cc44bb55aa66997788'",
    };
    return keys[which];
}

enum { raw_key_size = 67 };

static inline sqlite3 *open_raw(const char *path, int which) {
    sqlite3 *db = open_plain(path);
#if defined(PEER_PLAIN)
    (void)which;
#else
    must(sqlite3_key_v2(db, "main", raw_key(which), raw_key_size) == SQLITE_OK, db, "key");
#endif
    return db;
}

static inline sqlite3 *open_passphrase(const char *path) {
    sqlite3 *db = open_plain(path);
#if !defined(PEER_PLAIN)
    must(sqlite3_key_v2(db, "main", "correct horse battery", 21) == SQLITE_OK, db, "key");
#endif
    return db;
}

/* Where there is no key to change, what comes nearest to writing every page anew is a VACUUM. */
static inline void rekey(sqlite3 *db, int which) {
#if defined(PEER_PLAIN)
    (void)which;
    run(db, "VACUUM");
#else
    must(sqlite3_rekey_v2(db, "main", raw_key(which), raw_key_size) == SQLITE_OK, db, "rekey");
#endif
}

static inline void leave_out_avx512(void) {
#if defined(PEER_KIT)
    sqlcipherkit_provider_force(sqlcipherkit_provider_default_features() & ~(unsigned)SQLCIPHERKIT_CPU_AVX512);
#else
    fputs("driver: only this package's provider can leave out AVX-512\n", stderr);
    exit(2);
#endif
}

#endif
