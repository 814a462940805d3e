#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench.h"

static sqlite3_stmt *statement;

/* --- Integers --- */

struct ints { sqlite3_int64 i[10]; };

static void fill_ints(void) {
    fill(CREATE_INTS, FILL_INTS, rows(FETCH_ROWS));
    statement = prepare(SELECT_INTS);
}

static long long fetch_ints(void) {
    long long sum = 0;
    while (sqlite3_step(statement) == SQLITE_ROW)
        for (int i = 0; i < 10; i++) sum += sqlite3_column_int64(statement, i);
    check(sqlite3_reset(statement));
    return sum;
}

/* A column's name is looked for once per run, as a careful C program does. */
static long long fetch_ints_name(void) {
    static const char *const names[] = {"i0", "i1", "i2", "i3", "i4", "i5", "i6", "i7", "i8", "i9"};
    int indices[10];
    for (int n = 0; n < 10; n++)
        for (int i = 0; i < sqlite3_column_count(statement); i++)
            if (strcmp(sqlite3_column_name(statement, i), names[n]) == 0) indices[n] = i;
    long long sum = 0;
    while (sqlite3_step(statement) == SQLITE_ROW)
        for (int i = 0; i < 10; i++) sum += sqlite3_column_int64(statement, indices[i]);
    check(sqlite3_reset(statement));
    return sum;
}

/* An array that doubles, as Swift's does. */
static void *grown(void *array, size_t count, size_t *capacity, size_t size) {
    if (count < *capacity) return array;
    *capacity = *capacity ? *capacity * 2 : 4;
    return realloc(array, *capacity * size);
}

static long long fetch_ints_struct(void) {
    struct ints *array = 0;
    size_t count = 0, capacity = 0;
    while (sqlite3_step(statement) == SQLITE_ROW) {
        array = grown(array, count, &capacity, sizeof *array);
        for (int i = 0; i < 10; i++) array[count].i[i] = sqlite3_column_int64(statement, i);
        count++;
    }
    check(sqlite3_reset(statement));
    long long sum = 0;
    for (size_t n = 0; n < count; n++) sum += array[n].i[0] + array[n].i[9];
    free(array);
    return sum;
}

static void create_ints(void) {
    execute(CREATE_INTS);
    statement = prepare(INSERT_INTS);
}

static long long insert_ints(void) {
    long long count = rows(INSERT_INTS_ROWS);
    execute("BEGIN");
    for (long long n = 0; n < count; n++) {
        for (int i = 0; i < 10; i++) check(sqlite3_bind_int64(statement, i + 1, n + i));
        check(sqlite3_step(statement));
        check(sqlite3_reset(statement));
    }
    execute("COMMIT");
    return 0;
}

static long long finish_insert_ints(void) {
    long long result = number(CHECK_INTS);
    execute(CLEAR_INTS);
    return result;
}

/* --- Numbers, text and bytes --- */

struct mixed {
    sqlite3_int64 id;
    double score;
    char *title;
    void *body;
    int title_count, body_count;
};

static void *copied(const void *bytes, int count) {
    void *copy = malloc(count + 1);
    memcpy(copy, bytes, count);
    return copy;
}

static struct mixed read_mixed(void) {
    struct mixed row;
    row.id = sqlite3_column_int64(statement, 0);
    row.score = sqlite3_column_double(statement, 1);
    const void *title = sqlite3_column_text(statement, 2);
    row.title_count = sqlite3_column_bytes(statement, 2);
    row.title = copied(title, row.title_count);
    const void *body = sqlite3_column_blob(statement, 3);
    row.body_count = sqlite3_column_bytes(statement, 3);
    row.body = copied(body, row.body_count);
    return row;
}

static long long used_up(struct mixed *row) {
    long long sum = row->id + (long long)row->score + row->title_count + row->body_count;
    free(row->title);
    free(row->body);
    return sum;
}

static void fill_mixed(void) {
    fill(CREATE_MIXED, FILL_MIXED, rows(FETCH_ROWS));
    statement = prepare(SELECT_MIXED);
}

static long long fetch_mixed(void) {
    struct mixed *array = 0;
    size_t count = 0, capacity = 0;
    while (sqlite3_step(statement) == SQLITE_ROW) {
        array = grown(array, count, &capacity, sizeof *array);
        array[count++] = read_mixed();
    }
    check(sqlite3_reset(statement));
    long long sum = 0;
    for (size_t n = 0; n < count; n++) sum += used_up(&array[n]);
    free(array);
    return sum;
}

static void create_mixed(void) {
    execute(CREATE_MIXED);
    statement = prepare(INSERT_MIXED);
}

static void insert_mixed_row(long long n) {
    static const unsigned char body[40] = {1, 2, 3};
    check(sqlite3_bind_int64(statement, 1, n));
    check(sqlite3_bind_double(statement, 2, (double)n * 0.5));
    check(sqlite3_bind_text(statement, 3, TITLE_TEXT, sizeof TITLE_TEXT - 1, SQLITE_TRANSIENT));
    check(sqlite3_bind_blob(statement, 4, body, sizeof body, SQLITE_TRANSIENT));
    check(sqlite3_step(statement));
    check(sqlite3_reset(statement));
}

static long long insert_mixed_rows(long long count) {
    execute("BEGIN");
    for (long long n = 0; n < count; n++) insert_mixed_row(n);
    execute("COMMIT");
    return 0;
}

static long long insert_mixed(void) { return insert_mixed_rows(rows(INSERT_MIXED_ROWS)); }

static long long keyed_insert_mixed(void) { return insert_mixed_rows(rows(KEYED_INSERT_ROWS)); }

static long long finish_insert_mixed(void) {
    long long result = number(CHECK_MIXED);
    execute(CLEAR_MIXED);
    return result;
}

/* All rows are there before. */
static void prepare_upsert(void) {
    fill(CREATE_MIXED, FILL_MIXED, rows(INSERT_MIXED_ROWS));
    statement = prepare(UPSERT_MIXED);
}

/* --- Look-ups --- */

static void fill_lookup(void) {
    fill(CREATE_MIXED, FILL_MIXED, rows(FETCH_ROWS));
    statement = prepare(SELECT_MIXED_BY_ID);
}

static long long lookup_pk(void) {
    long long sum = 0, count = rows(LOOKUPS), range = rows(FETCH_ROWS);
    for (long long n = 0; n < count; n++) {
        check(sqlite3_bind_int64(statement, 1, lookup_key(n, range)));
        if (sqlite3_step(statement) == SQLITE_ROW) {
            struct mixed row = read_mixed();
            sum += used_up(&row);
        }
        check(sqlite3_reset(statement));
    }
    return sum;
}

static void prepare_update(void) {
    fill(CREATE_MIXED, FILL_MIXED, rows(FETCH_ROWS));
    statement = prepare(UPDATE_MIXED);
}

static long long update_mixed(void) {
    long long count = rows(LOOKUPS), range = rows(FETCH_ROWS);
    execute("BEGIN");
    for (long long n = 0; n < count; n++) {
        check(sqlite3_bind_double(statement, 1, (double)n));
        check(sqlite3_bind_int64(statement, 2, lookup_key(n, range)));
        check(sqlite3_step(statement));
        check(sqlite3_reset(statement));
    }
    execute("COMMIT");
    return 0;
}

static long long finish_update(void) { return number(CHECK_MIXED); }

static void create_observed(void) {
    execute(CREATE_SHARED);
    statement = prepare(INSERT_SHARED);
}

static long long write_observed(void) {
    long long count = rows(OBSERVED_WRITES);
    for (long long n = 0; n < count; n++) {
        check(sqlite3_bind_text(statement, 1, TITLE_TEXT, sizeof TITLE_TEXT - 1, SQLITE_TRANSIENT));
        execute("BEGIN IMMEDIATE");
        check(sqlite3_step(statement));
        check(sqlite3_reset(statement));
        execute("COMMIT");
    }
    return 0;
}

static long long finish_observed(void) {
    long long result = number(COUNT_SHARED);
    execute(CLEAR_SHARED);
    return result;
}

static void fill_talks(int latest) {
    execute(CREATE_TALKS);
    execute(FILL_TALKS);
    fill(CREATE_LINES, FILL_LINES, rows(TALK_LINES));
    execute(INDEX_LINES);
    statement = prepare(SELECT_LATEST);
    check(sqlite3_bind_int(statement, 1, latest));
}

static void fill_talks_1(void) { fill_talks(1); }
static void fill_talks_3(void) { fill_talks(3); }
static void fill_talks_20(void) { fill_talks(20); }

static long long including_latest(void) {
    long long sum = 0;
    while (sqlite3_step(statement) == SQLITE_ROW) {
        for (int i = 1; i < 6; i += 4) free(copied(sqlite3_column_text(statement, i), sqlite3_column_bytes(statement, i)));
        sum += sqlite3_column_int64(statement, 0) + sqlite3_column_int64(statement, 2) + sqlite3_column_int64(statement, 4);
    }
    check(sqlite3_reset(statement));
    return sum;
}

/* No table: what the text costs is the point. */
static void prepare_nothing(void) {}

static long long lookup_sql_text(void) {
    long long sum = 0, count = rows(LOOKUPS);
    for (long long n = 0; n < count; n++) {
        sqlite3_stmt *each;
        check(sqlite3_prepare_v3(db, "SELECT ? + 1", -1, 0, &each, 0));
        check(sqlite3_bind_int64(each, 1, n));
        if (sqlite3_step(each) == SQLITE_ROW) sum += sqlite3_column_int64(each, 0);
        check(sqlite3_finalize(each));
    }
    return sum;
}

/* --- Text and JSON --- */

static void fill_texts(void) {
    fill(CREATE_TEXTS, FILL_TEXTS, rows(TEXT_ROWS));
    statement = prepare(SEARCH_TEXTS);
}

static long long fts_search(void) {
    long long hits = 0, count = rows(SEARCHES);
    for (long long n = 0; n < count; n++) {
        char query[32];
        snprintf(query, sizeof query, "word%lld", n * 7);
        check(sqlite3_bind_text(statement, 1, query, -1, SQLITE_TRANSIENT));
        while (sqlite3_step(statement) == SQLITE_ROW) {
            volatile double rank = sqlite3_column_double(statement, 1);
            (void)rank;
            const void *snippet = sqlite3_column_text(statement, 2);
            free(copied(snippet, sqlite3_column_bytes(statement, 2)));
            hits += sqlite3_column_int64(statement, 0) > 0;
        }
        check(sqlite3_reset(statement));
    }
    return hits;
}

static void fill_json(void) {
    fill(CREATE_JSON, FILL_JSON, rows(JSON_ROWS));
    statement = prepare(EXTRACT_JSON);
}

static long long json_extract(void) {
    char **array = 0;
    size_t count = 0, capacity = 0;
    long long sum = 0;
    while (sqlite3_step(statement) == SQLITE_ROW) {
        array = grown(array, count, &capacity, sizeof *array);
        const void *name = sqlite3_column_text(statement, 0);
        int length = sqlite3_column_bytes(statement, 0);
        array[count++] = copied(name, length);
        sum += length;
    }
    check(sqlite3_reset(statement));
    for (size_t n = 0; n < count; n++) free(array[n]);
    free(array);
    return sum;
}

/* --- A file on a disk, without a key --- */

static void open_disk(void) {
    db = open_file("disk.db");
    execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
}

static void create_disk(void) {
    open_disk();
    create_mixed();
}

static void create_disk_whole(void) {
    open_disk();
    execute("PRAGMA synchronous = NORMAL");
    create_mixed();
}

static long long commits(long long count) {
    for (long long n = 0; n < count; n++) {
        execute("BEGIN IMMEDIATE");
        insert_mixed_row(n);
        execute("COMMIT");
    }
    return 0;
}

static long long disk_commits(void) { return commits(rows(DISK_COMMITS)); }
static long long disk_quick_commits(void) { return commits(rows(DISK_QUICK_COMMITS)); }

static void fill_disk(void) {
    open_disk();
    fill(CREATE_MIXED, FILL_MIXED, rows(FETCH_ROWS));
    check(sqlite3_close(db));
    db = 0;
}

/* Opening included. */
static long long read_disk(void) {
    open_disk();
    statement = prepare(SELECT_MIXED);
    long long sum = fetch_mixed();
    check(sqlite3_finalize(statement));
    check(sqlite3_close(db));
    db = 0;
    return sum;
}

static void fill_disk_lookup(void) {
    open_disk();
    fill_lookup();
}

static void fill_disk_texts(void) {
    open_disk();
    fill_texts();
}

const struct workload workloads[] = {
    {"fetch-ints-index", fill_ints, fetch_ints, 0},
    {"fetch-ints-name", fill_ints, fetch_ints_name, 0},
    {"fetch-ints-struct", fill_ints, fetch_ints_struct, 0},
    {"fetch-ints-codable", fill_ints, fetch_ints_struct, 0},
    {"fetch-mixed", fill_mixed, fetch_mixed, 0},
    {"fetch-mixed-data", fill_mixed, fetch_mixed, 0},
    {"fetch-mixed-codable", fill_mixed, fetch_mixed, 0},
    {"insert-ints", create_ints, insert_ints, finish_insert_ints},
    {"insert-mixed", create_mixed, insert_mixed, finish_insert_mixed},
    {"insert-mixed-data", create_mixed, insert_mixed, finish_insert_mixed},
    {"insert-codable-ints", create_ints, insert_ints, finish_insert_ints},
    {"insert-codable-mixed", create_mixed, insert_mixed, finish_insert_mixed},
    {"fetch-plain-ints", fill_ints, fetch_ints_struct, 0},
    {"fetch-plain-mixed", fill_mixed, fetch_mixed, 0},
    {"fetch-plain-sql", fill_ints, fetch_ints_struct, 0},
    {"insert-plain-ints", create_ints, insert_ints, finish_insert_ints},
    {"insert-plain-mixed", create_mixed, insert_mixed, finish_insert_mixed},
    {"lookup-plain-id", fill_lookup, lookup_pk, 0},
    {"lookup-plain-query", fill_lookup, lookup_pk, 0},
    {"including-latest", fill_talks_1, including_latest, 0},
    {"including-latest-3", fill_talks_3, including_latest, 0},
    {"including-latest-20", fill_talks_20, including_latest, 0},
    {"fetch-ints-record", fill_ints, fetch_ints_struct, 0},
    {"fetch-mixed-record", fill_mixed, fetch_mixed, 0},
    {"insert-record-ints", create_ints, insert_ints, finish_insert_ints},
    {"insert-record-mixed", create_mixed, insert_mixed, finish_insert_mixed},
    {"lookup-record-id", fill_lookup, lookup_pk, 0},
    {"lookup-record-query", fill_lookup, lookup_pk, 0},
    {"update-record", prepare_update, update_mixed, finish_update},
    {"insert-plain-returning", create_mixed, insert_mixed, finish_insert_mixed},
    {"insert-plain-all", create_mixed, insert_mixed, finish_insert_mixed},
    {"upsert-plain-returning", prepare_upsert, insert_mixed, finish_update},
    {"insert-record-returning", create_mixed, insert_mixed, finish_insert_mixed},
    {"insert-record-all", create_mixed, insert_mixed, finish_insert_mixed},
    {"upsert-record-returning", prepare_upsert, insert_mixed, finish_update},
    {"write-unobserved", create_observed, write_observed, finish_observed},
    {"write-observed", create_observed, write_observed, finish_observed},
    {"lookup-pk", fill_lookup, lookup_pk, 0},
    {"lookup-pk-text", fill_lookup, lookup_pk, 0},
    {"lookup-pk-arguments", fill_lookup, lookup_pk, 0},
    {"lookup-sql-text", prepare_nothing, lookup_sql_text, 0},
    {"fts-search", fill_texts, fts_search, 0},
    {"json-extract", fill_json, json_extract, 0},
    {"keyed-fetch-mixed", fill_mixed, fetch_mixed, 0},
    {"keyed-insert-mixed", create_mixed, keyed_insert_mixed, finish_insert_mixed},
    {"read-one", fill_reads, read_one, 0},
    {"read-one-pool", fill_async_reads, async_read, 0},
    {"async-read-main", fill_async_reads, async_read, 0},
    {"async-read", fill_async_reads, async_read, 0},
    {"async-read-busy", fill_async_reads, async_read, 0},
    {"pool-2-readers-writer", open_shared, two_readers_and_a_writer, finish_shared},
    {"pool-open-second", open_keyed_twice, open_second, 0},
    {"open-slots", make_passphrase, open_passphrase, 0},
    {"disk-insert", create_disk, insert_mixed, finish_insert_mixed},
    {"disk-commit", create_disk, disk_commits, finish_insert_mixed},
    {"disk-commit-whole", create_disk_whole, disk_quick_commits, finish_insert_mixed},
    {"disk-read", fill_disk, read_disk, 0},
    {"disk-lookup", fill_disk_lookup, lookup_pk, 0},
    {"disk-search", fill_disk_texts, fts_search, 0},
    {0, 0, 0, 0},
};
