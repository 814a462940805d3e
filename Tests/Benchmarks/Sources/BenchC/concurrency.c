#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench.h"

static sqlite3_stmt *begin, *one, *commit;

sqlite3 *open_file(const char *name) {
    char path[4096];
    sqlite3 *opened;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    check(sqlite3_open_v2(path, &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, 0));
    sqlite3_busy_timeout(opened, 5000);
    return opened;
}

static long long step_one(long long id) {
    check(sqlite3_bind_int64(one, 1, id));
    check(sqlite3_step(one));
    long long value = sqlite3_column_int64(one, 0);
    check(sqlite3_reset(one));
    return value;
}

void fill_reads(void) {
    fill(CREATE_MIXED, FILL_MIXED, rows(READS));
    one = prepare(SELECT_SCORE);
}

long long read_one(void) {
    long long sum = 0, count = rows(READS);
    for (long long n = 0; n < count; n++) sum += step_one(lookup_key(n, count));
    return sum;
}

void fill_async_reads(void) {
    db = open_file("async.db");
    execute("PRAGMA journal_mode = WAL");
    fill(CREATE_MIXED, FILL_MIXED, rows(ASYNC_READS));
    begin = prepare("BEGIN");
    one = prepare(SELECT_SCORE);
    commit = prepare("COMMIT");
}

static void run(sqlite3_stmt *statement) {
    check(sqlite3_step(statement));
    check(sqlite3_reset(statement));
}

/* A transaction each, as the pools' reads are. */
long long async_read(void) {
    long long sum = 0, count = rows(ASYNC_READS);
    for (long long n = 0; n < count; n++) {
        run(begin);
        sum += step_one(lookup_key(n, count));
        run(commit);
    }
    return sum;
}

/* --- Two readers and a writer --- */

static sqlite3 *shared[3];

void open_shared(void) {
    for (int i = 0; i < 3; i++) {
        shared[i] = db = open_file("shared.db");
        execute("PRAGMA journal_mode = WAL");
        if (i == 0) {
            fill(CREATE_MIXED, FILL_MIXED, rows(SHARED_ROWS));
            execute(CREATE_SHARED);
        }
    }
    db = shared[0];
}

static void *read_shared(void *argument) {
    sqlite3 *own = argument;
    sqlite3_stmt *statement;
    long long sum = 0;
    check(sqlite3_prepare_v2(own, "SELECT id, title FROM mixed", -1, &statement, 0));
    for (int scan = 0; scan < SHARED_SCANS; scan++) {
        check(sqlite3_exec(own, "BEGIN", 0, 0, 0));
        while (sqlite3_step(statement) == SQLITE_ROW) {
            sum += sqlite3_column_int64(statement, 0);
            const void *title = sqlite3_column_text(statement, 1);
            int count = sqlite3_column_bytes(statement, 1);
            char *copy = malloc(count + 1);
            memcpy(copy, title, count);
            free(copy);
            sum += count;
        }
        check(sqlite3_reset(statement));
        check(sqlite3_exec(own, "COMMIT", 0, 0, 0));
    }
    check(sqlite3_finalize(statement));
    return (void *)sum;
}

static void *write_shared(void *argument) {
    (void)argument;
    sqlite3_stmt *insert = prepare(INSERT_SHARED);
    long long writes = rows(SHARED_WRITES);
    for (long long n = 0; n < writes; n++) {
        execute("BEGIN IMMEDIATE");
        for (int i = 0; i < SHARED_INSERTS; i++) {
            check(sqlite3_bind_text(insert, 1, TITLE_TEXT, sizeof TITLE_TEXT - 1, SQLITE_TRANSIENT));
            run(insert);
        }
        execute("COMMIT");
    }
    check(sqlite3_finalize(insert));
    return 0;
}

long long two_readers_and_a_writer(void) {
    pthread_t threads[3];
    long long sum = 0;
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, i ? read_shared : write_shared, shared[i]);
    for (int i = 0; i < 3; i++) {
        void *result;
        pthread_join(threads[i], &result);
        sum += (long long)result;
    }
    return sum;
}

long long finish_shared(void) {
    long long count = number(COUNT_SHARED);
    execute(CLEAR_SHARED);
    return count;
}

/* --- Opening with a passphrase --- */

static sqlite3 *open_with_passphrase(void) {
    sqlite3 *opened = open_file("slots.db");
    check(sqlite3_key_v2(opened, "main", "correct horse", 13));
    return opened;
}

/* Beside key slots: the passphrase is the database's own, and SQLCipher derives the key. */
void make_passphrase(void) {
    db = open_with_passphrase();
    execute("CREATE TABLE t(x); INSERT INTO t VALUES (1)");
}

long long open_passphrase(void) {
    sqlite3 *first = db;
    db = open_with_passphrase();
    long long value = number("SELECT count(*) FROM t");
    check(sqlite3_close(db));
    db = first;
    return value;
}

/* --- A second connection --- */

/* With the raw key, which is the least that any second connection can cost. */
void open_keyed_twice(void) {
    db = open_file("second.db");
    check(sqlite3_key_v2(db, "main", "x'" KEY_HEX "'", sizeof KEY_HEX + 2));
    execute("PRAGMA journal_mode = WAL; CREATE TABLE t(x); INSERT INTO t VALUES (1)");
}

long long open_second(void) {
    sqlite3 *first = db;
    db = open_file("second.db");
    check(sqlite3_key_v2(db, "main", "x'" KEY_HEX "'", sizeof KEY_HEX + 2));
    long long value = number("SELECT count(*) FROM t");
    check(sqlite3_close(db));
    db = first;
    return value;
}
