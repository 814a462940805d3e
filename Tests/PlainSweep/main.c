/* Changes the key of a database with the engine alone, while each of its system calls fails or ends the process, and looks at what
 * is left: the file opens with one of the two keys and has all its rows, and the connection that saw the error may write on.
 *
 *   PlainSweep FOLDER JOURNAL HOW EVERY     HOW: kill, fail, read, full, damage, busy; EVERY: 1 tries each call, 3 every third
 *
 * Prints the number of calls that were struck and what was found. Ends with 1 if anything else than the promised was. */
#include <SQLCipher/sqlite3.h>
#include "KillPoints.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { rows = 80, with_new = 1, wrote = 2, odd = 4 };

static const char *folder, *journal;
static char original[4096], copy[4096];
/* The old key is derived from the file's salt, and the new one brings another salt: what is read first decides. */
static const char old_key[] = "old", new_key[] = "x'"
    "2DD29CA851E7B56E4697B0E1F08507293D761A05CE4D1B628663F411A8086D99"
    "00112233445566778899AABBCCDDEEFF'";

static void stop(const char *what, sqlite3 *db) {
    printf("%s: %s\n", what, db ? sqlite3_errmsg(db) : "");
    exit(2);
}

static sqlite3 *opened(const char *path, const char *key) {
    sqlite3 *db = NULL;
    char text[200];
    snprintf(text, sizeof text, "PRAGMA kdf_iter = 1; PRAGMA journal_mode = %s; PRAGMA cache_size = 8", journal);
    if (sqlite3_open(path, &db) == SQLITE_OK && sqlite3_key(db, key, -1) == SQLITE_OK &&
        sqlite3_exec(db, text, NULL, NULL, NULL) == SQLITE_OK) return db;
    sqlite3_close(db);
    return NULL;
}

static int number(sqlite3 *db, const char *sql) {
    sqlite3_stmt *statement = NULL;
    int value = -1;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW) {
        value = sqlite3_column_int(statement, 0);
    }
    return sqlite3_finalize(statement) == SQLITE_OK ? value : -1;
}

/* 1 if the only row of a pragma is "ok". */
static int is_sound(sqlite3 *db) {
    sqlite3_stmt *statement = NULL;
    int sound = sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &statement, NULL) == SQLITE_OK &&
                sqlite3_step(statement) == SQLITE_ROW && strcmp((const char *)sqlite3_column_text(statement, 0), "ok") == 0;
    return sqlite3_finalize(statement) == SQLITE_OK && sound;
}

static void create(void) {
    sqlite3 *db = opened(original, old_key);
    char *sql = sqlite3_mprintf(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, body); CREATE TABLE gone(body);"
        "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
        "INSERT INTO t SELECT i, hex(randomblob(450)) FROM n;"
        "INSERT INTO gone SELECT body FROM t LIMIT 30; DELETE FROM gone", rows);
    if (db == NULL || sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) stop("create", db);
    sqlite3_free(sql);
    sqlite3_close(db);
}

static void copy_original(void) {
    static char bytes[1 << 20];
    const char *const tails[] = {"-journal", "-wal", "-shm"};
    for (int i = 0; i < 3; i++) {
        char path[4200];
        snprintf(path, sizeof path, "%s%s", copy, tails[i]);
        unlink(path);
    }
    FILE *from = fopen(original, "rb"), *to = fopen(copy, "wb");
    if (!from || !to) stop("copy", NULL);
    const size_t count = fread(bytes, 1, sizeof bytes, from);
    if (fwrite(bytes, 1, count, to) != count) stop("copy", NULL);
    fclose(from);
    fclose(to);
}

/* Changes the key, by the C call, by the pragma or by the call in a transaction, and then writes a row, as a program does that did
 * not look at the error. */
enum { by_call, by_pragma, in_transaction, ways };

static int change(void *chosen) {
    const int way = *(int *)chosen;
    sqlite3 *db = opened(copy, old_key);
    if (db == NULL) return odd;
    char *sql = sqlite3_mprintf("PRAGMA rekey = \"%s\"", new_key);
    int result = 0;
    int rc = way == in_transaction ? sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) : SQLITE_OK;
    if (rc == SQLITE_OK) {
        rc = way == by_pragma ? sqlite3_exec(db, sql, NULL, NULL, NULL) : sqlite3_rekey_v2(db, "main", new_key, -1);
    }
    if (rc == SQLITE_OK) result |= with_new;
    if (!sqlite3_get_autocommit(db)) sqlite3_exec(db, rc == SQLITE_OK ? "COMMIT" : "ROLLBACK", NULL, NULL, NULL);
    sqlite3_free(sql);
    if (sqlite3_exec(db, "INSERT INTO t(body) VALUES ('after')", NULL, NULL, NULL) == SQLITE_OK) result |= wrote;
    sqlite3_close(db);
    return result;
}

/* The key that opens the copy: 1 the new key, 0 the old one, -1 neither or both, or it is not whole. */
static int found(int *count) {
    int answer = -1, keys = 0;
    for (int is_new = 0; is_new <= 1; is_new++) {
        sqlite3 *db = opened(copy, is_new ? new_key : old_key);
        if (db != NULL && (*count = number(db, "SELECT count(*) FROM t")) >= 0) {
            keys++;
            answer = is_sound(db) ? is_new : -1;
        }
        sqlite3_close(db);
    }
    return keys == 1 ? answer : -1;
}

static int bad(long point, const char *what, int result, int key, int count) {
    printf("%s %s %ld: %s, result %d, key %d, rows %d\n", journal, what, point, "not as promised", result, key, count);
    return 1;
}

static int sweep(int how, const char *name, int every) {
    int problems = 0, struck = 0, under_new = 0, count = 0;
    for (long point = 1;; point += every) {
        int way = (int)(point / every % ways);
        copy_original();
        const int result = killpoints_run(point, how, change, &way);
        const int killed = result >= 128, failed = !killed && result & KILLPOINTS_STRUCK;
        if (!killed && !failed) {
            if (result != (with_new | wrote)) problems += bad(point, name, result, -2, -2);
            break;
        }
        struck++;
        const int key = found(&count);
        under_new += key == 1;
        const int least = rows + (failed && result & wrote ? 1 : 0);
        if (key < 0 || count < least || count > rows + 1 || (failed && result & with_new && key != 1)) {
            problems += bad(point, name, result, key, count);
        }
    }
    printf("%s %s: struck %d, new key %d, bad %d\n", journal, name, struck, under_new, problems);
    return problems > 0;
}

/* A page that does not match its code: the change is refused, and writes elsewhere go on under the old key. */
static int damage(void) {
    int problems = 0, pages = 0, way = by_call;
    copy_original();
    sqlite3 *first = opened(copy, old_key);
    pages = number(first, "PRAGMA page_count");
    sqlite3_close(first);
    for (int page = 2; page <= pages; page++) {
        copy_original();
        FILE *file = fopen(copy, "r+b");
        if (!file || fseek(file, (page - 1) * 4096L + 100, SEEK_SET) || fwrite("damage", 1, 6, file) != 6 || fclose(file)) {
            stop("damage", NULL);
        }
        way = (way + 1) % ways;
        const int result = killpoints_run(0, KILLPOINTS_ALL, change, &way);
        sqlite3 *db = opened(copy, result & with_new ? new_key : old_key);
        /* Every row that can be read on its own is there; a damaged free page is made whole. */
        int read = 0;
        for (int id = 1; db != NULL && id <= rows + 1; id++) {
            char sql[100];
            snprintf(sql, sizeof sql, "SELECT count(body) FROM t WHERE id = %d", id);
            read += number(db, sql) == 1;
        }
        sqlite3_close(db);
        const int least = result & with_new ? rows + 1 : rows - 8 + (result & wrote ? 1 : 0);
        if (db == NULL || (read < least && read != 0)) problems += bad(page, "damage", result, -2, read);
        if (read == 0 && result & (with_new | wrote)) problems += bad(page, "damage", result, -2, read);
    }
    printf("%s damage: pages %d, bad %d\n", journal, pages - 1, problems);
    return problems > 0;
}

/* Another connection reads or writes: the change is refused, and the next write does not wait and is whole. */
static int busy(void) {
    int problems = 0;
    for (int writes = 0; writes <= 1; writes++) {
        copy_original();
        sqlite3 *other = opened(copy, old_key), *db = opened(copy, old_key);
        const char *begin = writes ? "BEGIN IMMEDIATE; INSERT INTO t(body) VALUES ('other')" : "BEGIN; SELECT count(*) FROM t";
        if (sqlite3_exec(other, begin, NULL, NULL, NULL) != SQLITE_OK) stop("begin", other);
        const int rc = sqlite3_rekey_v2(db, "main", new_key, -1);
        const int expected = writes || strcmp(journal, "wal") != 0 ? SQLITE_BUSY : SQLITE_OK;
        sqlite3_exec(other, "COMMIT", NULL, NULL, NULL);
        const int after = sqlite3_exec(db, "INSERT INTO t(body) VALUES ('after')", NULL, NULL, NULL);
        sqlite3_close(other);
        sqlite3_close(db);
        int count = 0;
        const int key = found(&count);
        if (rc != expected || after != SQLITE_OK || key != (rc == SQLITE_OK) || count != rows + 1 + writes) {
            problems += bad(writes, "busy", rc, key, count);
        }
    }
    printf("%s busy: bad %d\n", journal, problems);
    return problems > 0;
}

int main(int count, char **arguments) {
    static const char *const ways[] = {"kill", "fail", "read", "full"};
    if (count != 5 || atoi(arguments[4]) < 1) return 2;
    folder = arguments[1];
    journal = arguments[2];
    snprintf(original, sizeof original, "%s/original.db", folder);
    snprintf(copy, sizeof copy, "%s/copy.db", folder);
    create();
    if (strcmp(arguments[3], "damage") == 0) return damage();
    if (strcmp(arguments[3], "busy") == 0) return busy();
    for (int how = KILLPOINTS_ALL; how <= KILLPOINTS_FULL; how++) {
        if (strcmp(arguments[3], ways[how]) == 0) return sweep(how, ways[how], atoi(arguments[4]));
    }
    return 2;
}
