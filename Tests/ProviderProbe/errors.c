/* Calls that must fail do: no generator, no algorithm, sizes that are not allowed. */
#include "database.h"
#include "probe.h"
#include "with_kernels.h"
#include "without_random.h"

#include <errno.h>

#include <stdio.h>
#include <string.h>

static int must(int holds, const char *what) {
    if (!holds) {
        printf("not so: %s\n", what);
    }
    return !holds;
}

static int draw(void *bytes) {
    return sqlcipherkit_random_bytes(NULL, bytes, 64) != 0;
}

static int insert(void *db) {
    return sqlite3_exec(db, "INSERT INTO t VALUES (2)", NULL, NULL, NULL) != SQLITE_OK;
}

static int create(void *path) {
    sqlite3 *db = NULL;
    int code = sqlite3_open(path, &db);
    code = code != SQLITE_OK ? code : sqlite3_key(db, "key", 3);
    code = code != SQLITE_OK ? code : sqlite3_exec(db, "CREATE TABLE t(x)", NULL, NULL, NULL);
    sqlite3_close(db);
    return code != SQLITE_OK;
}

/* With no random bytes, nothing may be written: neither a new file nor a page of an old one. */
static int check_random(const char *folder) {
    if (!can_refuse_random()) {
        puts("errors: not tried without random bytes, which this system cannot refuse");
        return 0;
    }
    uint8_t bytes[64], zeros[64] = {0};
    int wrong = 0;
    const int errors[] = {EPERM, 0};
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        memset(bytes, 0x55, sizeof bytes);
        wrong |= must(without_random(errors[i], draw, bytes) == 1, "a generator that fails or gives nothing is an error");
        wrong |= must(memcmp(bytes, zeros, sizeof bytes) == 0, "what it did not fill is zeros");
    }
    wrong |= must(draw(bytes) == 0, "the generator works again");
    wrong |= must(memcmp(bytes, zeros, sizeof bytes) != 0, "random bytes are not zeros");

    sqlite3 *db = open_database(path_in(folder, "errors.db"), "key", 3, "PRAGMA kdf_iter = 10");
    if (db == NULL) {
        return 1;
    }
    wrong |= must(run_sql(db, "CREATE TABLE t(x); INSERT INTO t VALUES (1)") == SQLITE_OK, "a table is made");
    wrong |= must(without_random(EPERM, insert, db) == 1, "no page is encrypted without a vector");
    sqlite3_close(db);
    db = open_database(path_in(folder, "errors.db"), "key", 3, "PRAGMA kdf_iter = 10");
    wrong |= must(number_of(db, "SELECT count(*) FROM t") == 1, "the failed insert left the file as it was");
    sqlite3_close(db);

    wrong |= must(without_random(EPERM, create, (void *)path_in(folder, "never.db")) == 1, "no file is made without a salt");
    return wrong;
}

static int check_arguments(void) {
    uint8_t key[32] = {0}, iv[16] = {0}, data[48] = {0}, out[64];
    int wrong = 0;
    wrong |= must(probe_aes_cbc(~0u, 1, key, iv, data, 17, out) != 0, "17 bytes are not encrypted");
    wrong |= must(probe_hmac(~0u, 3, key, 32, data, 16, NULL, 0, out) != 0, "there is no HMAC number 3");
    wrong |= must(probe_hmac(~0u, 2, key, 32, NULL, 0, NULL, 0, out) != 0, "no data, no HMAC");
    wrong |= must(probe_pbkdf2(~0u, -1, key, 32, iv, 16, 1, out, 32) != 0, "there is no PBKDF2 number -1");
    wrong |= must(probe_pbkdf2(~0u, 2, key, 32, iv, 16, 0, out, 32) != 0, "0 rounds are not allowed");
    return wrong;
}

/* A page that was changed, and a wrong key, are errors; all of the page is authenticated. */
static int check_tampering(const char *folder) {
    int wrong = 0;
    const char *path = path_in(folder, "tampered.db");
    sqlite3 *db = open_database(path, "key", 3, "PRAGMA kdf_iter = 10");
    wrong |= db == NULL || run_sql(db, "CREATE TABLE t(x); INSERT INTO t VALUES (1)") != SQLITE_OK;
    sqlite3_close(db);
    /* In the second page: its first byte, one within, the vector, the HMAC. */
    static const long places[] = {4096, 4096 + 2000, 8192 - 80, 8192 - 64, 8192 - 1};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        for (int undo = 0; undo < 2; undo++) {
            unsigned char byte = 0;
            read_file(path, places[i], &byte, 1);
            FILE *file = fopen(path, "r+b");
            fseek(file, places[i], SEEK_SET);
            fputc(byte ^ 1, file);
            fclose(file);
            db = open_database(path, "key", 3, "PRAGMA kdf_iter = 10");
            wrong |= must((number_of(db, "SELECT count(*) FROM t") == 1) == undo, "a changed byte is found");
            sqlite3_close(db);
        }
    }
    db = open_database(path, "kex", 3, "PRAGMA kdf_iter = 10");
    wrong |= must(sqlite3_exec(db, "SELECT count(*) FROM t", NULL, NULL, NULL) == SQLITE_NOTADB, "a wrong key is found");
    sqlite3_close(db);
    return wrong;
}

int run_errors(const char *folder) {
    int wrong = check_random(folder) | check_arguments() | check_tampering(folder);
    printf("errors: %s\n", wrong ? "WRONG" : "what must fail, fails");
    return wrong;
}
