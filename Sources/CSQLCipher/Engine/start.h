/* Starting the engine. Only engine.c includes this, after the amalgamation.
 *
 * SQLite's own start reads plain variables before it takes a lock: if two threads open their first databases at the same time, one
 * may read what the other is writing, and on a CPU with weak memory ordering may see only half of it. So the first threads go
 * through one lock, and later threads see that the start is complete.
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
