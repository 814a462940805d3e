/* The loops in C that the Swift layers are measured against. */
#ifndef BENCH_H
#define BENCH_H

#include <SQLCipher/sqlite3.h>
#include "workloads.h"

struct workload {
    const char *name;
    void (*prepare)(void);
    /* The timed part; returns the check number. */
    long long (*run)(void);
    /* Untimed, or NULL; its number takes the place of run's. */
    long long (*finish)(void);
};

/* Ends with a nameless one. */
extern const struct workload workloads[];

/* In concurrency.c. */
void open_shared(void), fill_reads(void), fill_async_reads(void), open_keyed_twice(void);
void make_passphrase(void);
long long open_passphrase(void);
long long read_one(void), async_read(void), two_readers_and_a_writer(void), finish_shared(void), open_second(void);

/* The open database, and what rows are divided by. */
extern sqlite3 *db;
extern long long scale;
/* Where files may be made. */
extern const char *folder;

/* Ends the process on an error. */
void check(int rc);
void execute(const char *sql);
sqlite3_stmt *prepare(const char *sql);
/* A number of rows at this scale. */
long long rows(long long full);
/* Another database in the folder, without a key. */
sqlite3 *open_file(const char *name);
/* Makes a table and fills it. */
void fill(const char *create, const char *insert, long long count);
/* The first value of the first row. */
long long number(const char *sql);

#endif
