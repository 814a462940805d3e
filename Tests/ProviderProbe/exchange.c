/* Files for another build of SQLCipher to read, and a check of the files that one wrote: every page size from 1,024 to
 * 65,536, every HMAC and every PBKDF2, with a write-ahead log that was not checkpointed or with a hot rollback journal,
 * after a key change and a VACUUM. exchange.py does the same in Python; names, keys and rows must agree with it.
 */
#include "database.h"
#include "probe.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const algorithms[3] = {"SHA1", "SHA256", "SHA512"};

/* Rows 1 to 300; the text of row i is i, 700 times over. */
#define ROWS(from, to)                                                                                                 \
    "WITH n(i) AS (VALUES (" from ") UNION ALL SELECT i + 1 FROM n WHERE i < " to ") "                                 \
    "INSERT INTO t SELECT i, replace(hex(zeroblob(350)), '0', i) FROM n"

static void describe(char *name, char *settings, size_t size, int page_size, int hmac, int kdf, int log) {
    snprintf(name, size, "%d-%s-%s-%s.db", page_size, algorithms[hmac], algorithms[kdf], log ? "wal" : "journal");
    snprintf(settings, size,
             "PRAGMA cipher_page_size = %d; PRAGMA cipher_hmac_algorithm = HMAC_%s; "
             "PRAGMA cipher_kdf_algorithm = PBKDF2_HMAC_%s; PRAGMA kdf_iter = 100",
             page_size, algorithms[hmac], algorithms[kdf]);
}

/* Runs in a process of its own, which ends without closing: as a crash would leave the file. */
static int write_one(const char *path, const char *settings, int log) {
    sqlite3 *db = open_database(path, "first key", 9, settings);
    if (db == NULL || run_sql(db, "CREATE TABLE t(i INTEGER PRIMARY KEY, x)") != SQLITE_OK ||
        run_sql(db, ROWS("1", "200")) != SQLITE_OK ||
        sqlite3_rekey_v2(db, "main", "second key", 10) != SQLITE_OK || run_sql(db, "VACUUM") != SQLITE_OK) {
        return 1;
    }
    if (log) {
        return run_sql(db, "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0") != SQLITE_OK ||
               run_sql(db, ROWS("201", "300")) != SQLITE_OK;
    }
    return run_sql(db, ROWS("201", "300")) != SQLITE_OK ||
           run_sql(db, "PRAGMA cache_size = 2; BEGIN IMMEDIATE; UPDATE t SET x = 'never committed ' || x") != SQLITE_OK;
}

static int check_one(const char *path, const char *settings) {
    sqlite3 *db = open_database(path, "second key", 10, settings);
    int wrong = db == NULL ||
                number_of(db, "SELECT count(*) FROM t WHERE x = replace(hex(zeroblob(350)), '0', i)") != 300 ||
                number_of(db, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'") != 1;
    sqlite3_stmt *statement = NULL;
    wrong = wrong || sqlite3_prepare_v2(db, "PRAGMA cipher_integrity_check", -1, &statement, NULL) != SQLITE_OK ||
            sqlite3_step(statement) != SQLITE_DONE;
    sqlite3_finalize(statement);
    sqlite3_close(db);
    if (wrong) {
        printf("%s: not what was written\n", path);
    }
    return wrong;
}

static int for_each(const char *folder, int writing) {
    int wrong = 0, files = 0;
    for (int page_size = 1024; page_size <= 65536; page_size *= 2) {
        for (int which = 0; which < 18; which++) {
            char name[300], settings[300];
            int log = which / 9;
            describe(name, settings, sizeof name, page_size, which % 3, which / 3 % 3, log);
            const char *path = path_in(folder, name);
            files++;
            if (!writing) {
                wrong |= check_one(path, settings);
                continue;
            }
            pid_t child = fork();
            if (child == 0) {
                _exit(write_one(path, settings, log));
            }
            int status = 1;
            wrong |= child < 0 || waitpid(child, &status, 0) < 0 || status != 0;
        }
    }
    printf("%d files %s%s\n", files, writing ? "written" : "checked", wrong ? ": WRONG" : "");
    return wrong;
}

int run_exchange_write(const char *folder) {
    return for_each(folder, 1);
}

int run_exchange_check(const char *folder) {
    return for_each(folder, 0);
}
