/* The calling thread. */
#pragma once

#include <pthread.h>
#include <stdint.h>

/* The calling thread, as a number other than 0 to 15 that no other thread has while this one lives. */
static inline uintptr_t sqlcipherkit_thread(void) { return (uintptr_t)pthread_self(); }

/* How many closures of queues and pools the calling thread is in. */
extern _Thread_local int sqlcipherkit_calls_of_thread;
static inline int sqlcipherkit_calls(void) { return sqlcipherkit_calls_of_thread; }
static inline void sqlcipherkit_enter_call(void) { sqlcipherkit_calls_of_thread++; }
static inline void sqlcipherkit_leave_call(void) { sqlcipherkit_calls_of_thread--; }

/* The address that a recursion on the calling thread's stack must not go below, so that what it calls last has room; 0 where the
 * system does not tell (pthread_getattr_np on Linux, pthread_get_stackaddr_np on Apple's systems). Known after the first call. */
uintptr_t sqlcipherkit_stack_limit(void);

/* The number of processors that the process may use: those of its affinity mask on Linux, and all of them elsewhere; at least 1
 * (sched_getaffinity). */
int sqlcipherkit_processors(void);
