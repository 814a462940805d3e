/* What a fork leaves of the engine's locks. engine.c includes this after the amalgamation; nothing else does.
 *
 * A child has the forking thread alone. A mutex that another thread held stays locked in it, and what that mutex guards stays half
 * changed: the child would wait for ever, mostly when it opens its first database. So the forking thread takes all mutexes that
 * are not a connection's own, and lets go of them in parent and child.
 */
#include "../include/fork.h"

unsigned sqlcipherkit_fork_count;

#if SQLITE_OS_UNIX
/* In the order in which the engine takes one while it holds another, after that of its start: a name for a temporary file (VFS1)
 * takes random numbers (PRNG), whose first seed looks for a file layer (MAIN), under which SQLCipher starts and takes its own. */
static const int sqlcipherkit_fork_order[] = {
    SQLITE_MUTEX_STATIC_VFS1, SQLITE_MUTEX_STATIC_PRNG, SQLITE_MUTEX_STATIC_MAIN,
    SQLITE_MUTEX_STATIC_LRU,  SQLITE_MUTEX_STATIC_PMEM, SQLITE_MUTEX_STATIC_MEM,
};

/* Calls `act` for each mutex, by its pthread: the engine's own functions are not there before it was started. SQLCipher's are
 * made under MAIN, and so are looked at while that one is held. */
static void sqlcipherkit_each_mutex(int (*act)(pthread_mutex_t *)) {
    act(&sqlcipherkit_start_mutex);
    for (unsigned i = 0; i < sizeof sqlcipherkit_fork_order / sizeof *sqlcipherkit_fork_order; i++) {
        act(&pthreadMutexAlloc(sqlcipherkit_fork_order[i])->mutex);
    }
    for (int i = 0; i < SQLCIPHER_MUTEX_COUNT; i++) {
        if (sqlcipher_static_mutex[i] != NULL) act(&sqlcipher_static_mutex[i]->mutex);
    }
}

static void sqlcipherkit_before_fork(void) {
    sqlcipherkit_each_mutex(pthread_mutex_lock);
    /* Another thread may be starting the engine other than by sqlcipherkit_start, for a while without MAIN: first SQLite, then
     * SQLCipher. That is waited for, and given up after once if SQLCipher cannot start. */
    for (int once = 1; sqlite3GlobalConfig.nRefInitMutex > 0 || (once && sqlite3GlobalConfig.isInit && !sqlcipher_init); once = 0) {
        sqlcipherkit_each_mutex(pthread_mutex_unlock);
        if (sqlite3_initialize() == SQLITE_OK) sqlcipher_extra_init(NULL);
        sqlcipherkit_each_mutex(pthread_mutex_lock);
    }
}

static void sqlcipherkit_after_fork(void) { sqlcipherkit_each_mutex(pthread_mutex_unlock); }

static void sqlcipherkit_in_child(void) {
    sqlcipherkit_fork_count++;
    /* The locks that the engine believes to hold are the parent's: POSIX gives a child none of them. A file that the child opens
     * itself starts without any. */
    inodeList = NULL;
    sqlcipherkit_after_fork();
}

__attribute__((constructor)) static void sqlcipherkit_watch_forks(void) {
    pthread_atfork(sqlcipherkit_before_fork, sqlcipherkit_after_fork, sqlcipherkit_in_child);
}
#endif
