/* The calling thread. */
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

/* A number for the calling thread, never 0 to 15, that no other thread has while this one lives. */
static inline uintptr_t sqlcipherkit_thread(void) { return (uintptr_t)pthread_self(); }

/* The number of closures of queues and pools that the calling thread is in. */
extern _Thread_local int sqlcipherkit_calls_of_thread;
static inline int sqlcipherkit_calls(void) { return sqlcipherkit_calls_of_thread; }
static inline void sqlcipherkit_enter_call(void) { sqlcipherkit_calls_of_thread++; }
static inline void sqlcipherkit_leave_call(void) { sqlcipherkit_calls_of_thread--; }

/* The scope of the closures of queries on the calling thread, which the Swift layer knows; NULL outside them. */
extern _Thread_local const void *sqlcipherkit_query_scope_of_thread;
static inline const void *sqlcipherkit_query_scope(void) { return sqlcipherkit_query_scope_of_thread; }
static inline void sqlcipherkit_set_query_scope(const void *scope) { sqlcipherkit_query_scope_of_thread = scope; }

/* The address that a recursion on the calling thread's stack must not go below, so that its last calls have room; 0 if the system
 * does not report it (pthread_getattr_np on Linux, pthread_get_stackaddr_np on Apple's systems). Cached after the first call. */
uintptr_t sqlcipherkit_stack_limit(void);

/* Runs `body` with `context` on a new thread, which nothing joins, with `stack` bytes (0 for the system's default) and a name of at
 * most 15 bytes. Returns 0, or the errno with which the system refuses a thread, usually EAGAIN (pthread_create(3)); `body` is then
 * never called. */
int sqlcipherkit_start_thread(const char *name, size_t stack, void (*body)(void *context), void *context);

/* The number of processors that the process may use: those of its affinity mask on Linux, and all of them elsewhere; at least 1
 * (sched_getaffinity). */
int sqlcipherkit_processors(void);
