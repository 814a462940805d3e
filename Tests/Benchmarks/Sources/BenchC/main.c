#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "bench.h"

sqlite3 *db;
long long scale;
const char *folder;

void check(int rc) {
    if (rc == SQLITE_OK || rc == SQLITE_DONE || rc == SQLITE_ROW) return;
    fprintf(stderr, "%s\n", db ? sqlite3_errmsg(db) : sqlite3_errstr(rc));
    exit(1);
}

void execute(const char *sql) { check(sqlite3_exec(db, sql, 0, 0, 0)); }

sqlite3_stmt *prepare(const char *sql) {
    sqlite3_stmt *statement;
    check(sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, 0));
    return statement;
}

long long rows(long long full) { return full / scale > 0 ? full / scale : 1; }

void fill(const char *create, const char *insert, long long count) {
    execute(create);
    sqlite3_stmt *statement = prepare(insert);
    check(sqlite3_bind_int64(statement, 1, count));
    check(sqlite3_step(statement));
    check(sqlite3_finalize(statement));
}

long long number(const char *sql) {
    sqlite3_stmt *statement = prepare(sql);
    check(sqlite3_step(statement));
    long long value = sqlite3_column_int64(statement, 0);
    check(sqlite3_finalize(statement));
    return value;
}

static void open_database(const char *folder, int keyed) {
    char path[4096] = ":memory:";
    if (keyed) snprintf(path, sizeof path, "%s/keyed.db", folder);
    check(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, 0));
    if (keyed) check(sqlite3_key_v2(db, "main", "x'" KEY_HEX "'", sizeof KEY_HEX + 2));
}

/* As Harness.swift: a name, a folder and a scale; then a run for each line read. */
int main(int count, char **arguments) {
    if (count != 4) {
        for (const struct workload *each = workloads; each->name; each++) puts(each->name);
        return 0;
    }
    const struct workload *workload = workloads;
    while (workload->name && strcmp(workload->name, arguments[1])) workload++;
    if (!workload->name) return 1;
    scale = atoll(arguments[3]);
    folder = arguments[2];
    open_database(arguments[2], strncmp(arguments[1], "keyed-", 6) == 0);
    workload->prepare();
    puts("ready");
    fflush(stdout);
    while (getchar() == '\n') {
        struct timespec start, end;
        clock_gettime(CLOCK_MONOTONIC, &start);
        long long result = workload->run();
        clock_gettime(CLOCK_MONOTONIC, &end);
        if (workload->finish) result = workload->finish();
        printf("%lld %lld\n", (end.tv_sec - start.tv_sec) * 1000000000LL + end.tv_nsec - start.tv_nsec, result);
        fflush(stdout);
    }
    return 0;
}
