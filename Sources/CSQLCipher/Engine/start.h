/* Starting the engine. engine.c includes this after the amalgamation; nothing else does.
 *
 * SQLite's own start looks at plain variables before it takes a lock: of two threads that open their first databases at the same
 * time, one may read what the other is writing, and a CPU with weak ordering may show it half of that. So all who come first go
 * through one lock, and all who come later see that the start is over.
 */
#if SQLITE_OS_UNIX
static pthread_mutex_t sqlcipherkit_start_mutex = PTHREAD_MUTEX_INITIALIZER;
static int sqlcipherkit_is_started;

static int sqlcipherkit_start(void) {
    if (__atomic_load_n(&sqlcipherkit_is_started, __ATOMIC_ACQUIRE)) return SQLITE_OK;
    pthread_mutex_lock(&sqlcipherkit_start_mutex);
    int rc = sqlite3_initialize();
    if (rc == SQLITE_OK) __atomic_store_n(&sqlcipherkit_is_started, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&sqlcipherkit_start_mutex);
    return rc;
}
#else
static int sqlcipherkit_start(void) { return sqlite3_initialize(); }
#endif
