/* SQLCipher frees its keys at exit while other threads still use them.
 *
 * What happens: SQLCipher registers sqlcipher_fini in .fini_array and sqlcipher_atexit with atexit. Both free the private
 *   heap and the provider. A thread that is writing when main returns goes on until the process ends, with freed keys: it
 *   crashes, or encrypts pages with other bytes, and then no key opens the file.
 * What should happen: the process ends; the file has all that was committed, as it has with SQLite.
 * Tried with: SQLCipher 4.12.0, 4.18.0 and 4.19.0, with OpenSSL 3.
 * Patch: 01-exit.patch
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sqlite3.h"

static char path[32];
static volatile int begun;

static void *write_on(void *none) {
    sqlite3 *db;
    sqlite3_open(path, &db);
    sqlite3_key(db, "key", 3);
    sqlite3_exec(db, "CREATE TABLE t(x)", 0, 0, 0);
    for (;; begun++) {
        sqlite3_exec(db, "BEGIN", 0, 0, 0);
        for (int i = 0; i < 20; i++) sqlite3_exec(db, "INSERT INTO t VALUES (randomblob(3000))", 0, 0, 0);
        sqlite3_exec(db, "COMMIT", 0, 0, 0);
    }
    return none;
}

/* A program's own handler that takes a moment. It is registered before SQLCipher's, so it runs after it. */
static void say_goodbye(void) { usleep(300000); }

int main(void) {
    int crashes = 0, lost = 0;
    for (int round = 0; round < 60 && crashes + lost == 0; round++) {
        snprintf(path, sizeof path, "exit%d.db", round);
        pid_t child = fork();
        if (child == 0) {
            pthread_t thread;
            atexit(say_goodbye);
            pthread_create(&thread, NULL, write_on, NULL);
            while (begun < 3) usleep(100);
            /* Each round is at another point of a commit. */
            usleep(97 * (unsigned)round);
            exit(0);
        }
        int status;
        waitpid(child, &status, 0);
        crashes += WIFSIGNALED(status) != 0;
        sqlite3 *db;
        sqlite3_open(path, &db);
        sqlite3_key(db, "key", 3);
        lost += sqlite3_exec(db, "SELECT count(x) FROM t", 0, 0, 0) != SQLITE_OK;
        sqlite3_close(db);
    }
    printf("crashes at exit: %d, files that no key opens: %d\n", crashes, lost);
    return crashes + lost > 0;
}
