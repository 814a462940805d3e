/* Which thread and which process it is that calls. */
#ifndef SQLCIPHERKIT_THREADS_H
#define SQLCIPHERKIT_THREADS_H

#include <pthread.h>
#include <stdint.h>

/* The calling thread, as a number other than 0 to 15 that no other thread has while this one lives. */
static inline uintptr_t sqlcipherkit_thread(void) { return (uintptr_t)pthread_self(); }

/* How often this process and its ancestors have forked, counted in the child: a number that differs from the one remembered
 * says that what was made then is the parent's. It changes before fork() returns, where there is one thread only
 * (https://pubs.opengroup.org/onlinepubs/9799919799/functions/pthread_atfork.html). */
extern unsigned sqlcipherkit_fork_count;
static inline unsigned sqlcipherkit_forks(void) { return sqlcipherkit_fork_count; }

#endif
