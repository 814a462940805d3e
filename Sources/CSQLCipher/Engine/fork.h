/* Keeps the engine's locks usable after a fork. Only engine.c includes this, after the amalgamation.
 *
 * A child process has only the forking thread. A mutex that another thread held stays locked in the child, and the data that it
 * guards may be half changed: the child would wait forever, mostly when it opens its first database. So the forking thread takes
 * all mutexes except those of connections, and releases them in parent and child.
 */
#include "../include/fork.h"

unsigned sqlcipherkit_fork_count;

#if SQLITE_OS_UNIX
/* In the order in which the engine nests them, after the mutex of its start: a name for a temporary file (VFS1) needs random
 * numbers (PRNG), whose first seed looks for a file layer (MAIN), under which SQLCipher starts and takes its own mutexes. */
static const int sqlcipherkit_fork_order[] = {
    SQLITE_MUTEX_STATIC_VFS1, SQLITE_MUTEX_STATIC_PRNG, SQLITE_MUTEX_STATIC_MAIN,
    SQLITE_MUTEX_STATIC_LRU,  SQLITE_MUTEX_STATIC_PMEM, SQLITE_MUTEX_STATIC_MEM,
};

/* SQLCipher creates its mutexes under MAIN, so they are read while MAIN is held. */
static void sqlcipherkit_each_mutex(void (*act)(sqlite3_mutex *)) {
    for (unsigned i = 0; i < sizeof sqlcipherkit_fork_order / sizeof *sqlcipherkit_fork_order; i++) {
        act(sqlite3_mutex_alloc(sqlcipherkit_fork_order[i]));
    }
    for (size_t i = 0; i < sizeof sqlcipher_static_mutex / sizeof *sqlcipher_static_mutex; i++) act(sqlcipher_static_mutex[i]);
}

static void sqlcipherkit_before_fork(void) {
    pthread_mutex_lock(&sqlcipherkit_start_mutex);
    sqlcipherkit_each_mutex(sqlite3_mutex_enter);
    /* Another thread may be starting the engine other than by sqlcipherkit_start, at times without MAIN: first SQLite, then
     * SQLCipher. Wait for that, but only once if SQLCipher cannot start. */
    for (int once = 1; sqlite3GlobalConfig.nRefInitMutex > 0 || (once && sqlite3GlobalConfig.isInit && !sqlcipher_init); once = 0) {
        sqlcipherkit_each_mutex(sqlite3_mutex_leave);
        if (sqlite3_initialize() == SQLITE_OK) sqlcipherkit_extra_init(NULL);
        sqlcipherkit_each_mutex(sqlite3_mutex_enter);
    }
}

static void sqlcipherkit_after_fork(void) {
    sqlcipherkit_each_mutex(sqlite3_mutex_leave);
    pthread_mutex_unlock(&sqlcipherkit_start_mutex);
}

static void sqlcipherkit_in_child(void) {
    sqlcipherkit_fork_count++;
    /* The locks that the engine believes it holds are the parent's: under POSIX, a child inherits none. A file that the child opens
     * itself starts without locks. */
    inodeList = NULL;
    sqlcipherkit_after_fork();
}

__attribute__((constructor)) static void sqlcipherkit_watch_forks(void) {
    pthread_atfork(sqlcipherkit_before_fork, sqlcipherkit_after_fork, sqlcipherkit_in_child);
}
#endif
