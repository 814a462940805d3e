/* After fork() no two processes may draw the same salt or the same initialisation vector, and a child may open a database
 * whatever other threads of its parent were doing. */
#include "database.h"
#include "probe.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { children = 40, openers = 3, page_size = 4096, reserved = 80, drawn = 16 };

static int create(const char *folder, int number) {
    char path[1024];
    snprintf(path, sizeof path, "%s/fork-%d.db", folder, number);
    sqlite3 *db = open_database(path, "one passphrase", 14, "PRAGMA kdf_iter = 10");
    if (db == NULL || run_sql(db, "CREATE TABLE t(x); INSERT INTO t VALUES (1)") != SQLITE_OK) {
        return 1;
    }
    return sqlite3_close(db) != SQLITE_OK;
}

/* Another thread's work while the process forks: it opens databases until it is stopped, or one if `rounds` is 1. */
struct opener {
    const char *folder;
    int number, rounds;
    atomic_int *stopped;
    int wrong;
};

static void *open_again_and_again(void *argument) {
    struct opener *opener = argument;
    char path[1024];
    snprintf(path, sizeof path, "%s/opener-%d.db", opener->folder, opener->number);
    for (int i = 0; i != opener->rounds && !atomic_load(opener->stopped); i++) {
        sqlite3 *db = open_database(path, "key", 3, "PRAGMA kdf_iter = 10");
        opener->wrong |= db == NULL || run_sql(db, "CREATE TABLE IF NOT EXISTS t(x); INSERT INTO t VALUES (1)") != SQLITE_OK;
        sqlite3_close(db);
    }
    return NULL;
}

/* Forks a child that makes a database, and that a signal ends if it waits for a lock that no process holds. */
static pid_t fork_creator(const char *folder, int number) {
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        _exit(create(folder, number));
    }
    return child;
}

static int has_failed(pid_t child) {
    int status = 1;
    return child < 0 || waitpid(child, &status, 0) != child || status != 0;
}

/* A fork while another thread starts the engine. Each try takes a process that has not started it. */
static int fork_during_start(const char *folder) {
    int failed = 0;
    for (int i = 0; i < children; i++) {
        pid_t child = fork();
        if (child == 0) {
            atomic_int stopped = 0;
            struct opener opener = {folder, i, 1, &stopped, 0};
            pthread_t thread;
            pthread_create(&thread, NULL, open_again_and_again, &opener);
            usleep((useconds_t)i * 20);
            int wrong = has_failed(fork_creator(folder, 1000 + i));
            pthread_join(thread, NULL);
            _exit(wrong || opener.wrong);
        }
        failed += has_failed(child);
    }
    return failed;
}

static int fork_beside_openers(const char *folder) {
    atomic_int stopped = 0;
    struct opener all[openers];
    pthread_t threads[openers];
    int failed = 0;
    for (int i = 0; i < openers; i++) {
        all[i] = (struct opener){folder, 100 + i, -1, &stopped, 0};
        pthread_create(&threads[i], NULL, open_again_and_again, &all[i]);
    }
    for (int i = 0; i < 2 * children; i++) {
        failed += has_failed(fork_creator(folder, 2000 + i));
    }
    atomic_store(&stopped, 1);
    for (int i = 0; i < openers; i++) {
        pthread_join(threads[i], NULL);
        failed += all[i].wrong;
    }
    return failed;
}

/* Writes rows to a file that all share, and so waits for turns and takes them, until it is stopped. */
static void *write_in_turns(void *argument) {
    struct opener *opener = argument;
    sqlite3 *db = open_database(path_in(opener->folder, "turns.db"), "key", 3, "PRAGMA kdf_iter = 10");
    opener->wrong |= db == NULL || sqlite3_busy_timeout(db, 20000) != SQLITE_OK;
    for (int i = 0; i != opener->rounds && !atomic_load(opener->stopped) && !opener->wrong; i++) {
        opener->wrong |= run_sql(db, "INSERT INTO t VALUES (1)") != SQLITE_OK;
    }
    return sqlite3_close(db) == SQLITE_OK ? NULL : opener;
}

/* A child may write to a file for which threads of its parent wait: the parent's turns are not the child's. */
static int fork_beside_turns(const char *folder) {
    atomic_int stopped = 0;
    struct opener all[openers];
    pthread_t threads[openers];
    sqlite3 *db = open_database(path_in(folder, "turns.db"), "key", 3, "PRAGMA kdf_iter = 10");
    int failed = db == NULL || run_sql(db, "CREATE TABLE t(x)") != SQLITE_OK || sqlite3_close(db) != SQLITE_OK;
    for (int i = 0; i < openers; i++) {
        all[i] = (struct opener){folder, i, -1, &stopped, 0};
        pthread_create(&threads[i], NULL, write_in_turns, &all[i]);
    }
    for (int i = 0; i < 2 * children; i++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(20);
            struct opener own = {folder, i, 1, &stopped, 0};
            _exit(write_in_turns(&own) != NULL || own.wrong);
        }
        failed += has_failed(child);
    }
    atomic_store(&stopped, 1);
    for (int i = 0; i < openers; i++) {
        pthread_join(threads[i], NULL);
        failed += all[i].wrong;
    }
    return failed;
}

int run_fork(const char *folder) {
    /* Salt, and the vectors of the first two pages, of each process; all are random and must differ from each other. */
    static unsigned char values[(children + 2) * 3][drawn];
    const int during_start = fork_during_start(folder), beside = fork_beside_openers(folder);
    const int turns = fork_beside_turns(folder);
    if (during_start + beside + turns > 0) {
        printf("fork: %d of %d failed during the start, %d of %d beside openers, %d beside writers in turn\n", during_start, children,
               beside, 2 * children, turns);
    }
    int wrong = during_start + beside + turns > 0;
    wrong |= create(folder, children);
    for (int i = 0; i < children; i++) {
        pid_t child = fork();
        if (child == 0) {
            _exit(create(folder, i));
        }
        wrong |= child < 0;
    }
    wrong |= create(folder, children + 1);
    for (int i = 0; i < children; i++) {
        int status = 1;
        wrong |= wait(&status) < 0 || status != 0;
    }
    for (int i = 0; i < children + 2; i++) {
        char name[32];
        snprintf(name, sizeof name, "fork-%d.db", i);
        const char *path = path_in(folder, name);
        wrong |= read_file(path, 0, values[3 * i], drawn) != 0 ||
                 read_file(path, page_size - reserved, values[3 * i + 1], drawn) != 0 ||
                 read_file(path, 2 * page_size - reserved, values[3 * i + 2], drawn) != 0;
    }
    size_t count = sizeof values / sizeof *values;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < i; j++) {
            if (memcmp(values[i], values[j], drawn) == 0) {
                printf("processes %zu and %zu drew the same bytes\n", j / 3, i / 3);
                wrong = 1;
            }
        }
    }
    printf("%d processes after a fork: %s\n", children + 2, wrong ? "WRONG" : "all salts and vectors differ");
    return wrong;
}
