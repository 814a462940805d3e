/* Eight connections at work at once, four on files of their own and four on one, while another thread changes the kernels
 * under them. */
#include "database.h"
#include "probe.h"
#include "with_kernels.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum { workers = 8, rounds = 12 };

struct worker {
    pthread_t thread;
    const char *folder;
    int number;
    int wrong;
};

static atomic_int finished;

static void *work(void *argument) {
    struct worker *worker = argument;
    char name[32];
    /* Even numbers have a file each; the odd ones share. */
    snprintf(name, sizeof name, "threads-%d.db", worker->number % 2 == 0 ? worker->number : 1);
    for (int round = 0; round < rounds && !worker->wrong; round++) {
        sqlite3 *db = open_database(path_in(worker->folder, name), "key", 3,
                                    "PRAGMA kdf_iter = 50; PRAGMA busy_timeout = 60000; PRAGMA cache_size = 20");
        worker->wrong = db == NULL ||
                        run_sql(db, "CREATE TABLE IF NOT EXISTS t(x)") != SQLITE_OK ||
                        run_sql(db, "WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 200) "
                                    "INSERT INTO t SELECT hex(zeroblob(300)) FROM n") != SQLITE_OK ||
                        number_of(db, "SELECT sum(length(x)) FROM t") <= 0 ||
                        (worker->number % 2 == 0 && round % 4 == 3 &&
                         (sqlite3_rekey_v2(db, "main", "key", 3) != SQLITE_OK || run_sql(db, "VACUUM") != SQLITE_OK));
        sqlite3_close(db);
    }
    atomic_fetch_add(&finished, 1);
    return NULL;
}

static void *change_kernels(void *argument) {
    (void)argument;
    for (size_t i = 0; atomic_load(&finished) < workers; i = (i + 1) % kernel_set_count) {
        sqlcipherkit_provider_force(kernel_sets[i].features);
        usleep(500);
    }
    sqlcipherkit_provider_force(sqlcipherkit_provider_default_features());
    return NULL;
}

int run_threads(const char *folder) {
    struct worker all[workers];
    pthread_t changer;
    int wrong = 0;
    /* The shared file is made, with its log, before threads compete for it. */
    sqlite3 *db = open_database(path_in(folder, "threads-1.db"), "key", 3, "PRAGMA kdf_iter = 50");
    wrong |= db == NULL || run_sql(db, "PRAGMA journal_mode = WAL; CREATE TABLE t(x)") != SQLITE_OK;
    sqlite3_close(db);
    for (int i = 0; i < workers; i++) {
        all[i].folder = folder;
        all[i].number = i;
        all[i].wrong = 0;
        wrong |= pthread_create(&all[i].thread, NULL, work, &all[i]) != 0;
    }
    wrong |= pthread_create(&changer, NULL, change_kernels, NULL) != 0;
    for (int i = 0; i < workers; i++) {
        pthread_join(all[i].thread, NULL);
        wrong |= all[i].wrong;
    }
    pthread_join(changer, NULL);
    db = open_database(path_in(folder, "threads-1.db"), "key", 3, "PRAGMA kdf_iter = 50");
    wrong |= number_of(db, "SELECT count(*) FROM t") != 200LL * rounds * workers / 2;
    wrong |= number_of(db, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'") != 1;
    sqlite3_close(db);
    printf("%d threads: %s\n", workers, wrong ? "WRONG" : "all data there");
    return wrong;
}
