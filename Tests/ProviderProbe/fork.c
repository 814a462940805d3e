/* After fork() no two processes may draw the same salt or the same initialisation vector. */
#include "database.h"
#include "probe.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { children = 40, page_size = 4096, reserved = 80, drawn = 16 };

static int create(const char *folder, int number) {
    char name[32];
    snprintf(name, sizeof name, "fork-%d.db", number);
    sqlite3 *db = open_database(path_in(folder, name), "one passphrase", 14, "PRAGMA kdf_iter = 10");
    if (db == NULL || run_sql(db, "CREATE TABLE t(x); INSERT INTO t VALUES (1)") != SQLITE_OK) {
        return 1;
    }
    return sqlite3_close(db) != SQLITE_OK;
}

int run_fork(const char *folder) {
    /* Salt, and the vectors of the first two pages, of each process; all are random and must differ from each other. */
    static unsigned char values[(children + 2) * 3][drawn];
    int wrong = create(folder, children);
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
