/* What a fork leaves of the file layer. engine.c includes this after the amalgamation; nothing else does. */
#include "../include/fork.h"

unsigned sqlcipherkit_fork_count;

#if SQLITE_OS_UNIX
/* The lock that guards inodeList; NULL before the engine was started. */
static sqlite3_mutex *sqlcipherkit_held_at_fork;

static void sqlcipherkit_before_fork(void) {
    sqlcipherkit_held_at_fork = unixBigLock;
    sqlite3_mutex_enter(sqlcipherkit_held_at_fork);
}

static void sqlcipherkit_after_fork(void) { sqlite3_mutex_leave(sqlcipherkit_held_at_fork); }

static void sqlcipherkit_in_child(void) {
    sqlcipherkit_fork_count++;
    /* The locks that the engine believes to hold are the parent's: POSIX gives a child none of them. A file that the child opens
     * itself starts without any. */
    inodeList = NULL;
    sqlite3_mutex_leave(sqlcipherkit_held_at_fork);
}

__attribute__((constructor)) static void sqlcipherkit_watch_forks(void) {
    pthread_atfork(sqlcipherkit_before_fork, sqlcipherkit_after_fork, sqlcipherkit_in_child);
}
#endif
