/* Starting the engine. Only engine.c includes this, after the amalgamation.
 *
 * SQLite's own start reads plain variables before it takes a lock: if two threads open their first databases at the same time, one
 * may read what the other is writing, and on a CPU with weak memory ordering may see only half of it. So the first threads go
 * through one lock, and later threads see that the start is complete.
 *
 * SQLCipher's start needs random bytes. When the system refuses them, it frees the memory that its provider lies in, and calls the
 * provider; and SQLite does not run it again. Here the provider has memory of its own, and each opening of a database tries again.
 */
static sqlcipher_provider sqlcipherkit_provider;

int sqlcipherkit_extra_init(const char *none) {
    extern int SQLCIPHER_PROVIDER_SETUP(sqlcipher_provider *);
    sqlite3_mutex *mutex = sqlite3_mutex_alloc(SQLITE_MUTEX_STATIC_MAIN);
    int rc = SQLITE_OK;
    sqlcipherkit_guard_files();
    sqlite3_mutex_enter(mutex);
#ifndef SQLCIPHERKIT_PLAIN_SYMBOLS
    if (!sqlcipher_init) sqlcipherkit_count_memory();
#endif
    if (default_provider == NULL) {
        memset(&sqlcipherkit_provider, 0, sizeof sqlcipherkit_provider);
        rc = SQLCIPHER_PROVIDER_SETUP(&sqlcipherkit_provider);
        if (rc == SQLITE_OK && sqlcipherkit_provider.init != NULL) rc = sqlcipherkit_provider.init();
        if (rc == SQLITE_OK) default_provider = &sqlcipherkit_provider;
    }
    sqlite3_mutex_leave(mutex);
    return rc == SQLITE_OK ? sqlcipher_extra_init(none) : rc;
}

/* SQLCipher calls this at the process's exit. Other threads may still be writing then: the memory is freed with the process. */
void sqlcipher_extra_shutdown(void) {}

#if SQLITE_OS_UNIX
static pthread_mutex_t sqlcipherkit_start_mutex = PTHREAD_MUTEX_INITIALIZER;
static int sqlcipherkit_is_started;

static int sqlcipherkit_start(void) {
    if (__atomic_load_n(&sqlcipherkit_is_started, __ATOMIC_ACQUIRE)) return SQLITE_OK;
    pthread_mutex_lock(&sqlcipherkit_start_mutex);
    int rc = sqlite3_initialize();
    if (rc == SQLITE_OK && !sqlcipher_init) rc = sqlcipherkit_extra_init(NULL);
    if (rc == SQLITE_OK) __atomic_store_n(&sqlcipherkit_is_started, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&sqlcipherkit_start_mutex);
    return rc;
}
#else
static int sqlcipherkit_is_started;
static int sqlcipherkit_start(void) {
    const int rc = sqlite3_initialize();
    return rc == SQLITE_OK && !sqlcipher_init ? sqlcipherkit_extra_init(NULL) : rc;
}
#endif

/* SQLCipher's own frees every provider of its list. */
void sqlcipherkit_extra_shutdown(void) {
    sqlcipher_provider **link = &default_provider;
    while (*link != NULL && *link != &sqlcipherkit_provider) link = &(*link)->next;
    if (*link != NULL) {
        *link = sqlcipherkit_provider.next;
        if (sqlcipherkit_provider.shutdown != NULL) sqlcipherkit_provider.shutdown();
    }
    __atomic_store_n(&sqlcipherkit_is_started, 0, __ATOMIC_RELEASE);
    upstream_sqlcipher_extra_shutdown();
}
