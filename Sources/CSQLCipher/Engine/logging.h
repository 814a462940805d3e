/* Sends SQLite's log and SQLCipher's to one function. Only engine.c includes this, after the amalgamation. */
#include "../include/logging.h"

static sqlcipherkit_log_sink sqlcipherkit_sink = NULL;
static _Thread_local int sqlcipherkit_secret_depth = 0;

void sqlcipherkit_log_secret(int delta) { sqlcipherkit_secret_depth += delta; }

static void sqlcipherkit_sqlite_log(void *unused, int code, const char *message) {
    (void)unused;
    sqlcipherkit_log_sink sink = __atomic_load_n(&sqlcipherkit_sink, __ATOMIC_ACQUIRE);
    if (sink != NULL) sink(code, sqlcipherkit_secret_depth > 0 ? sqlite3_errstr(code) : message);
}

/* What is beyond that of a line of SQLCipher's log is cut off. */
enum { sqlcipherkit_longest_line = 8256 };

/* SQLCipher logs only to a FILE. This one calls our function and is line-buffered. We never close it, as another thread may be
 * writing to it; if PRAGMA cipher_log closes it, sqlcipherkit_cipher_close is called. */
static FILE *sqlcipherkit_cipher_file = NULL;

static void sqlcipherkit_cipher_lines(const char *bytes, size_t count) {
    sqlcipherkit_log_sink sink = __atomic_load_n(&sqlcipherkit_sink, __ATOMIC_ACQUIRE);
    char line[sqlcipherkit_longest_line];
    while (count > 0) {
        const char *end = memchr(bytes, '\n', count);
        size_t length = end != NULL ? (size_t)(end - bytes) : count;
        size_t copied = length < sizeof(line) - 1 ? length : sizeof(line) - 1;
        memcpy(line, bytes, copied);
        line[copied] = 0;
        if (sink != NULL && copied > 0) sink(-1, line);
        if (end == NULL) return;
        bytes = end + 1;
        count -= length + 1;
    }
}

static int sqlcipherkit_cipher_close(void *unused) {
    (void)unused;
    sqlcipherkit_cipher_file = NULL;
    return 0;
}

#if defined(__GLIBC__) || (defined(__linux__) && !defined(__ANDROID__))
static ssize_t sqlcipherkit_cipher_write(void *unused, const char *bytes, size_t count) {
    (void)unused;
    sqlcipherkit_cipher_lines(bytes, count);
    return (ssize_t)count;
}

static FILE *sqlcipherkit_open_file(void) {
    cookie_io_functions_t functions = {NULL, sqlcipherkit_cipher_write, NULL, sqlcipherkit_cipher_close};
    return fopencookie(NULL, "w", functions);
}
#else
static int sqlcipherkit_cipher_write(void *unused, const char *bytes, int count) {
    (void)unused;
    sqlcipherkit_cipher_lines(bytes, (size_t)count);
    return count;
}

static FILE *sqlcipherkit_open_file(void) {
    return funopen(NULL, NULL, sqlcipherkit_cipher_write, NULL, sqlcipherkit_cipher_close);
}
#endif

int sqlcipherkit_set_log(sqlcipherkit_log_sink sink, unsigned int cipher_level) {
    /* The engine must have set its own defaults for both logs before they are changed. */
    int rc = sqlcipherkit_start();
    if (rc != SQLITE_OK) return rc;
    __atomic_store_n(&sqlcipherkit_sink, sink, __ATOMIC_RELEASE);
    sqlite3_config(SQLITE_CONFIG_LOG, sqlcipherkit_sqlite_log, NULL);
    if (sink == NULL || cipher_level == 0) {
        if (sqlcipher_log_file == sqlcipherkit_cipher_file) sqlcipher_log_level = SQLCIPHER_LOG_NONE;
        return SQLITE_OK;
    }
    if (sqlcipherkit_cipher_file == NULL) {
        FILE *file = sqlcipherkit_open_file();
        if (file == NULL) return SQLITE_NOMEM;
        setvbuf(file, NULL, _IOLBF, 2 * sqlcipherkit_longest_line);
        sqlcipherkit_cipher_file = file;
    }
    sqlcipher_log_file = sqlcipherkit_cipher_file;
    /* One of SQLCipher's messages about its memory has a %zu, which SQLite's printf misreads, and crashes. */
    sqlcipher_log_source = cipher_level >= SQLCIPHER_LOG_TRACE ? SQLCIPHER_LOG_ANY & ~SQLCIPHER_LOG_MEMORY : SQLCIPHER_LOG_ANY;
    sqlcipher_log_level = cipher_level;
    return SQLITE_OK;
}
