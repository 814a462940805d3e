/* Pages that are written in a row are encrypted several at once. Whatever order the pager then writes them in, and whatever
 * becomes of them in between, every page of the file, the log and the journal must be right, and have an initialisation
 * vector of its own. */
#include "database.h"
#include "probe.h"
#include "with_kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { page_size = 4096, reserved = 80, vector_size = 16, frame_header = 24, log_header = 32 };

static const char fill_sql[] =
    "CREATE TABLE t(i INTEGER PRIMARY KEY, x); CREATE INDEX tx ON t(x); "
    "WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 900) "
    "INSERT INTO t SELECT i, replace(hex(zeroblob(150)), '0', i % 10) FROM n";

/* cipher_integrity_check looks at the file alone, so the log goes there first. */
static int is_sound(sqlite3 *db) {
    sqlite3_stmt *statement = NULL;
    int sound = run_sql(db, "PRAGMA wal_checkpoint(TRUNCATE)") == SQLITE_OK &&
                number_of(db, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'") == 1 &&
                sqlite3_prepare_v2(db, "PRAGMA cipher_integrity_check", -1, &statement, NULL) == SQLITE_OK &&
                sqlite3_step(statement) == SQLITE_DONE;
    sqlite3_finalize(statement);
    return sound;
}

static long size_of(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return 0;
    }
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    fclose(file);
    return size;
}

static int copy_file(const char *from, const char *to) {
    long size = size_of(from);
    unsigned char *bytes = malloc((size_t)size + 1);
    int failed = read_file(from, 0, bytes, (size_t)size) != 0;
    FILE *file = fopen(to, "wb");
    failed |= file == NULL || fwrite(bytes, 1, (size_t)size, file) != (size_t)size;
    if (file != NULL) {
        fclose(file);
    }
    free(bytes);
    return failed;
}

static int compare(const void *one, const void *other) {
    return memcmp(one, other, vector_size);
}

/* 1 if all pages of `path` have vectors of their own. These begin at `first` and lie `stride` bytes apart. */
static int vectors_differ(const char *path, long first, long stride) {
    const long count = (size_of(path) - first) / stride;
    unsigned char *vectors = malloc((size_t)(count > 0 ? count : 1) * vector_size);
    int wrong = count < 50;
    for (long i = 0; i < count; i++) {
        wrong |= read_file(path, first + i * stride + page_size - reserved, vectors + i * vector_size, vector_size) != 0;
    }
    qsort(vectors, (size_t)(count > 0 ? count : 0), vector_size, compare);
    for (long i = 1; i < count; i++) {
        wrong |= memcmp(vectors + (i - 1) * vector_size, vectors + i * vector_size, vector_size) == 0;
    }
    free(vectors);
    if (wrong) {
        printf("%s: %ld pages, not each with a vector of its own\n", path, count);
    }
    return !wrong;
}

/* Changes of all kinds with a page cache of that size, undone in part, with a log or a journal. */
static int check_changes(const char *folder, const char *journal, int cache) {
    const char *path = path_in(folder, "writes.db");
    char settings[200];
    int wrong = 0;
    remove(path);
    snprintf(settings, sizeof settings, "PRAGMA kdf_iter = 10; PRAGMA journal_mode = %s; PRAGMA cache_size = %d", journal,
             cache);
    sqlite3 *db = open_database(path, "key", 3, settings);
    wrong |= db == NULL || run_sql(db, fill_sql) != SQLITE_OK;
    /* Rows whose pages are changed again while they wait to be written; a savepoint and a transaction that go back. */
    wrong |= run_sql(db, "BEGIN; UPDATE t SET x = x || 'a'; UPDATE t SET x = x || 'b' WHERE i % 7 = 0; SAVEPOINT s; "
                         "UPDATE t SET x = 'gone' WHERE i % 2 = 0; DELETE FROM t WHERE i > 600; ROLLBACK TO s; "
                         "UPDATE t SET x = x || 'c' WHERE i % 5 = 0; COMMIT") != SQLITE_OK;
    wrong |= run_sql(db, "BEGIN; UPDATE t SET x = 'never'; DELETE FROM t WHERE i % 3 = 0; ROLLBACK") != SQLITE_OK;
    wrong |= run_sql(db, "DELETE FROM t WHERE i BETWEEN 300 AND 399; VACUUM") != SQLITE_OK;
    static const char right[] = "SELECT count(*) FROM t WHERE x = replace(hex(zeroblob(150)), '0', i % 10) || 'a' || "
                                "iif(i % 7 = 0, 'b', '') || iif(i % 5 = 0, 'c', '')";
    wrong |= number_of(db, right) != 800 || !is_sound(db);
    wrong |= sqlite3_rekey_v2(db, "main", "other", 5) != SQLITE_OK;
    wrong |= number_of(db, right) != 800 || !is_sound(db);
    sqlite3_close(db);
    snprintf(settings, sizeof settings, "PRAGMA kdf_iter = 10");
    db = open_database(path, "other", 5, settings);
    wrong |= number_of(db, right) != 800 || !is_sound(db);
    wrong |= run_sql(db, "PRAGMA journal_mode = DELETE") != SQLITE_OK;
    sqlite3_close(db);
    wrong |= !vectors_differ(path, 0, page_size);
    if (wrong) {
        printf("changes with %s and %d pages of cache: wrong\n", journal, cache);
    }
    return wrong;
}

/* A log, as a crash leaves it: every frame has a vector of its own, also where a page was written twice. */
static int check_log(const char *folder) {
    const char *path = path_in(folder, "log.db");
    remove(path);
    sqlite3 *db = open_database(path, "key", 3, "PRAGMA kdf_iter = 10");
    int wrong = run_sql(db, "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0") != SQLITE_OK;
    wrong |= run_sql(db, fill_sql) != SQLITE_OK || run_sql(db, "UPDATE t SET x = x || 'a'") != SQLITE_OK;
    /* The same few pages three times, with the same bytes. */
    wrong |= run_sql(db, "CREATE TABLE u(x); INSERT INTO u SELECT hex(zeroblob(500)) || '1' FROM t LIMIT 15") != SQLITE_OK;
    for (int i = 0; i < 3; i++) {
        wrong |= run_sql(db, "BEGIN; UPDATE u SET x = replace(x, '1', '2'); UPDATE u SET x = replace(x, '2', '1'); "
                             "COMMIT") != SQLITE_OK;
    }
    wrong |= !vectors_differ(path_in(folder, "log.db-wal"), log_header + frame_header, frame_header + page_size);
    wrong |= copy_file(path_in(folder, "log.db"), path_in(folder, "log-copy.db"));
    wrong |= copy_file(path_in(folder, "log.db-wal"), path_in(folder, "log-copy.db-wal"));
    sqlite3_close(db);
    db = open_database(path_in(folder, "log-copy.db"), "key", 3, "PRAGMA kdf_iter = 10");
    wrong |= number_of(db, "SELECT count(*) FROM t WHERE x LIKE '%a'") != 900 || !is_sound(db);
    sqlite3_close(db);
    if (wrong) {
        printf("a log with pages written at once: wrong\n");
    }
    return wrong;
}

/* A hot journal, as a crash leaves it, brings every page back: with pages read for the change and encrypted as they were
 * read (a small cache), and with pages that lay in the cache and were encrypted several at once (a large one). */
static int check_journal(const char *folder, int cache) {
    const char *path = path_in(folder, "journal.db");
    char sql[300];
    remove(path);
    sqlite3 *db = open_database(path, "key", 3, "PRAGMA kdf_iter = 10");
    int wrong = run_sql(db, fill_sql) != SQLITE_OK;
    snprintf(sql, sizeof sql,
             "PRAGMA cache_size = %d; SELECT sum(length(x)) FROM t NOT INDEXED; BEGIN; UPDATE t SET x = 'never'; "
             "PRAGMA cache_spill = 1; PRAGMA cache_size = 2; UPDATE t SET x = 'again'",
             cache);
    wrong |= run_sql(db, sql) != SQLITE_OK;
    wrong |= size_of(path_in(folder, "journal.db-journal")) < 50L * page_size;
    wrong |= copy_file(path_in(folder, "journal.db"), path_in(folder, "journal-copy.db"));
    wrong |= copy_file(path_in(folder, "journal.db-journal"), path_in(folder, "journal-copy.db-journal"));
    sqlite3_close(db);
    db = open_database(path_in(folder, "journal-copy.db"), "key", 3, "PRAGMA kdf_iter = 10");
    wrong |= number_of(db, "SELECT count(*) FROM t WHERE x = replace(hex(zeroblob(150)), '0', i % 10)") != 900;
    wrong |= !is_sound(db);
    sqlite3_close(db);
    if (wrong) {
        printf("a hot journal, %d pages of cache: wrong\n", cache);
    }
    return wrong;
}

static int damage;

/* The engine's message about a failure: which page, or which line found the damage. It says so, too, where nothing else shows it:
 * of a page that is taken for a node when its bytes come back from the journal, before they are decrypted. */
static void take_log(void *context, int code, const char *message) {
    (void)context;
    damage |= code == SQLITE_CORRUPT;
    printf("engine: (%d) %s\n", code, message);
}

int run_writes(const char *folder) {
    static const char *const journals[] = {"DELETE", "WAL"};
    static const int caches[] = {2, 40, 5000};
    int wrong = sqlite3_config(SQLITE_CONFIG_LOG, take_log, NULL) != SQLITE_OK;
    for (size_t k = 0; k < kernel_set_count; k++) {
        /* The sets that can do it; and one that cannot, for which nothing may be different. */
        if (!is_available(&kernel_sets[k]) || (k > 0 && !(kernel_sets[k].features & SQLCIPHERKIT_CPU_AVX2))) {
            continue;
        }
        sqlcipherkit_provider_force(kernel_sets[k].features);
        int before = wrong;
        wrong |= check_log(folder);
        for (size_t i = 0; i < sizeof caches / sizeof *caches; i++) {
            for (size_t j = 0; j < 2; j++) {
                wrong |= check_changes(folder, journals[j], caches[i]);
            }
            wrong |= check_journal(folder, caches[i]);
        }
        printf("%s: %s\n", kernel_sets[k].name, wrong > before ? "WRONG" : "every page is right, in file, log and journal");
    }
    sqlcipherkit_provider_force(sqlcipherkit_provider_default_features());
    return wrong || damage;
}
