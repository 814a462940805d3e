#include "database.h"

#include <stdio.h>

int run_sql(sqlite3 *db, const char *sql) {
    char *message = NULL;
    int code = sqlite3_exec(db, sql, NULL, NULL, &message);
    if (code != SQLITE_OK) {
        printf("error %d (%s) in: %s\n", code, message == NULL ? "?" : message, sql);
    }
    sqlite3_free(message);
    return code;
}

long long number_of(sqlite3 *db, const char *sql) {
    sqlite3_stmt *statement = NULL;
    long long number = -1;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW) {
        number = sqlite3_column_int64(statement, 0);
    }
    sqlite3_finalize(statement);
    return number;
}

sqlite3 *open_database(const char *path, const void *key, int key_size, const char *settings) {
    sqlite3 *db = NULL;
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) != SQLITE_OK ||
        sqlite3_key_v2(db, "main", key, key_size) != SQLITE_OK || run_sql(db, settings) != SQLITE_OK) {
        printf("cannot open %s: %s\n", path, sqlite3_errmsg(db));
        sqlite3_close(db);
        return NULL;
    }
    return db;
}

const char *path_in(const char *folder, const char *name) {
    static _Thread_local char paths[2][1024];
    static _Thread_local int turn;
    turn = !turn;
    snprintf(paths[turn], sizeof paths[turn], "%s/%s", folder, name);
    return paths[turn];
}

int read_file(const char *path, long offset, void *bytes, size_t size) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return -1;
    }
    int failed = fseek(file, offset, SEEK_SET) != 0 || fread(bytes, 1, size, file) != size;
    fclose(file);
    return failed ? -1 : 0;
}
