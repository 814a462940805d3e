/* Full-text search with FTS5 alone, as a program in C writes it: what the Swift layer's search is measured against.
 *
 * Arguments: the documents (scripts/lib/search_corpus.py has their form) and a folder for the database. Commands are lines:
 *   build            the index over the documents; answers nanoseconds, the bytes of the index, and those of the file
 *   open             a new connection; answers nanoseconds
 *   search PATH      each line of a file is a MATCH expression, for 20 hits with snippets. Answers a line for each: nanoseconds and
 *   typed PATH       the hits' row ids; then a line with a dot. `typed` is the same here.
 *   facets PATH      the same for the ten most frequent tags; answers counts in place of row ids
 *   newest PATH      the same as `search` for the newest percent of the documents
 *   pages PATH       the same for pages 1 to 50, one after the other
 *   insert PATH      the documents of another file, in one transaction; answers nanoseconds
 *   commits PATH     the same, each in a transaction of its own; answers a line of nanoseconds for each, then a dot
 *   intact           compares the index with its table; answers nanoseconds
 * What cannot be done answers a dash. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <SQLCipher/sqlite3.h>

#define KEY "x'000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f'"
#define CREATE_NOTES "CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, body TEXT, date TEXT, tags TEXT)"
#define INSERT_NOTE "INSERT INTO note VALUES (?, ?, ?, ?, ?)"
#define CREATE_INDEX                                                                                                            \
    "CREATE VIRTUAL TABLE note_fts USING fts5(title, body, content='note', content_rowid='id', tokenize='porter unicode61', "   \
    "prefix='2 3')"
#define CREATE_TRIGGERS                                                                                                         \
    "CREATE TRIGGER note_ai AFTER INSERT ON note BEGIN"                                                                         \
    " INSERT INTO note_fts(rowid, title, body) VALUES (new.id, new.title, new.body); END;"                                      \
    "CREATE TRIGGER note_ad AFTER DELETE ON note BEGIN"                                                                         \
    " INSERT INTO note_fts(note_fts, rowid, title, body) VALUES ('delete', old.id, old.title, old.body); END;"                  \
    "CREATE TRIGGER note_au AFTER UPDATE ON note BEGIN"                                                                         \
    " INSERT INTO note_fts(note_fts, rowid, title, body) VALUES ('delete', old.id, old.title, old.body);"                       \
    " INSERT INTO note_fts(rowid, title, body) VALUES (new.id, new.title, new.body); END"
#define SEARCH                                                                                                                  \
    "SELECT rowid, rank, snippet(note_fts, 1, '[', ']', '…', 16) FROM note_fts WHERE note_fts MATCH ? ORDER BY rank LIMIT 20"
#define NEWEST                                                                                                                  \
    "SELECT rowid, rank, snippet(note_fts, 1, '[', ']', '…', 16) FROM note_fts WHERE note_fts MATCH ?"                          \
    " AND rowid > (SELECT max(id) * 99 / 100 FROM note) ORDER BY rank LIMIT 20"
#define PAGE                                                                                                                    \
    "SELECT rowid, rank, snippet(note_fts, 1, '[', ']', '…', 16) FROM note_fts WHERE note_fts MATCH ?"                          \
    " ORDER BY rank LIMIT 20 OFFSET ?"
#define FACETS                                                                                                                  \
    "SELECT value, count(*) FROM note_fts JOIN note ON note.id = note_fts.rowid, json_each(note.tags)"                          \
    " WHERE note_fts MATCH ? GROUP BY value ORDER BY count(*) DESC, value LIMIT 10"

static sqlite3 *db;
/* The clock that times searches: the clock on the wall, or this thread's time where the environment has BENCH_THREAD_TIME. */
static clockid_t search_clock = CLOCK_MONOTONIC;
static char path[4096];
static sqlite3_stmt *search, *newest, *page, *facets, *insert;
/* The size of the hits' texts, so that reading them is not left out. */
static volatile size_t bytes_read;

static void check(int rc) {
    if (rc == SQLITE_OK || rc == SQLITE_DONE || rc == SQLITE_ROW) return;
    fprintf(stderr, "%s\n", db ? sqlite3_errmsg(db) : sqlite3_errstr(rc));
    exit(1);
}

static long long read_clock(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static long long now(void) { return read_clock(CLOCK_MONOTONIC); }

static void execute(const char *sql) { check(sqlite3_exec(db, sql, 0, 0, 0)); }

static long long number(const char *sql) {
    sqlite3_stmt *statement;
    check(sqlite3_prepare_v2(db, sql, -1, &statement, 0));
    check(sqlite3_step(statement));
    long long value = sqlite3_column_int64(statement, 0);
    check(sqlite3_finalize(statement));
    return value;
}

static sqlite3_stmt *prepared(const char *sql) {
    sqlite3_stmt *statement;
    check(sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, 0));
    return statement;
}

static void open_database(void) {
    sqlite3_finalize(search);
    sqlite3_finalize(newest);
    sqlite3_finalize(page);
    sqlite3_finalize(facets);
    sqlite3_finalize(insert);
    check(sqlite3_close(db));
    check(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, 0));
    check(sqlite3_key_v2(db, "main", KEY, sizeof KEY - 1));
    execute("PRAGMA journal_mode = WAL");
    search = newest = page = facets = insert = 0;
}

/* Statements are prepared before they are timed, as a program prepares them once. */
static void prepare(void) {
    if (search) return;
    search = prepared(SEARCH);
    newest = prepared(NEWEST);
    page = prepared(PAGE);
    facets = prepared(FACETS);
}

/* Reads the next line without its end, NULL at the end of the file. */
static char *next_line(FILE *file) {
    static char *line;
    static size_t capacity;
    ssize_t length = getline(&line, &capacity, file);
    if (length <= 0) return 0;
    if (line[length - 1] == '\n') line[length - 1] = 0;
    return line;
}

static FILE *opened(const char *name) {
    FILE *file = fopen(name, "r");
    if (file) return file;
    perror(name);
    exit(1);
}

static void add_document(char *line) {
    for (int column = 1; column <= 5; column++) {
        char *value = strsep(&line, "\t");
        if (column == 1) check(sqlite3_bind_int64(insert, 1, atoll(value)));
        else check(sqlite3_bind_text(insert, column, value, -1, SQLITE_STATIC));
    }
    check(sqlite3_step(insert));
    check(sqlite3_reset(insert));
}

static long long add_documents(const char *name) {
    FILE *file = opened(name);
    if (!insert) insert = prepared(INSERT_NOTE);
    long long start = now();
    execute("BEGIN");
    for (char *line; (line = next_line(file));) add_document(line);
    execute("COMMIT");
    fclose(file);
    return now() - start;
}

static long long check_index(void) {
    long long start = now();
    execute("INSERT INTO note_fts(note_fts, rank) VALUES ('integrity-check', 1)");
    return now() - start;
}

static void commit_documents(const char *name) {
    FILE *file = opened(name);
    if (!insert) insert = prepared(INSERT_NOTE);
    for (char *line; (line = next_line(file));) {
        long long start = read_clock(search_clock);
        add_document(line);
        printf("%lld\t\n", read_clock(search_clock) - start);
    }
    fclose(file);
    puts(".");
}

static void build(const char *documents) {
    execute(CREATE_NOTES);
    add_documents(documents);
    execute("PRAGMA wal_checkpoint(TRUNCATE)");
    long long before = number("PRAGMA page_count"), start = now();
    execute(CREATE_INDEX);
    execute("INSERT INTO note_fts(note_fts) VALUES ('rebuild')");
    execute(CREATE_TRIGGERS);
    long long time = now() - start, size = number("PRAGMA page_size");
    execute("PRAGMA wal_checkpoint(TRUNCATE)");
    long long pages = number("PRAGMA page_count");
    printf("%lld %lld %lld\n", time, (pages - before) * size, pages * size);
}

static void run(const char *name, char command) {
    FILE *file = opened(name);
    prepare();
    const int wantsFacets = command == 'f', pages = command == 'p' ? 50 : 1;
    sqlite3_stmt *statement = wantsFacets ? facets : command == 'p' ? page : command == 'n' ? newest : search;
    for (char *line; (line = next_line(file));) {
        long long values[20 * 50];
        int count = 0;
        long long start = read_clock(search_clock);
        check(sqlite3_bind_text(statement, 1, line, -1, SQLITE_STATIC));
        for (int number = 0; number < pages; number++) {
            if (pages > 1) check(sqlite3_bind_int(statement, 2, 20 * number));
            int rc;
            while ((rc = sqlite3_step(statement)) == SQLITE_ROW) {
                values[count++] = sqlite3_column_int64(statement, wantsFacets ? 1 : 0);
                int text = wantsFacets ? 0 : 2;
                bytes_read += strlen((const char *)sqlite3_column_text(statement, text));
            }
            check(rc);
            check(sqlite3_reset(statement));
        }
        printf("%lld\t", read_clock(search_clock) - start);
        for (int i = 0; i < count; i++) printf(i ? ",%lld" : "%lld", values[i]);
        putchar('\n');
    }
    fclose(file);
    puts(".");
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    if (getenv("BENCH_THREAD_TIME")) search_clock = CLOCK_THREAD_CPUTIME_ID;
    snprintf(path, sizeof path, "%s/fts5.db", arguments[2]);
    open_database();
    static char command[4096];
    while (fgets(command, sizeof command, stdin)) {
        command[strcspn(command, "\n")] = 0;
        char *argument = strchr(command, ' ');
        if (argument) *argument++ = 0;
        if (!strcmp(command, "build")) build(arguments[1]);
        else if (!strcmp(command, "open")) {
            long long start = now();
            open_database();
            printf("%lld\n", now() - start);
        } else if (argument && !strcmp(command, "commits")) commit_documents(argument);
        else if (!strcmp(command, "intact")) printf("%lld\n", check_index());
        else if (argument && strchr("stnpf", *command)) run(argument, *command);
        else if (argument && !strcmp(command, "insert")) printf("%lld\n", add_documents(argument));
        else puts("-");
        fflush(stdout);
    }
    return 0;
}
