/* pthread_getattr_np is GNU's, in glibc and in musl; on Apple's systems the macro does nothing. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include <pthread.h>
#ifdef __linux__
#include <sched.h>
#endif
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../include/thread.h"

/* A recursion stops when this much of the stack is left, in bytes. The remainder is for the last calls, including the types' own
 * code and a system library that is used for the first time. Of a small stack, three eighths are reserved. */
enum { reserve = 96 * 1024 };

#if defined(__APPLE__) || defined(__linux__)
static uintptr_t limit(uintptr_t lowest, size_t size) {
    return lowest + (size / 8 * 3 < reserve ? size / 8 * 3 : reserve);
}
#endif

static uintptr_t find_limit(void) {
#if defined(__APPLE__)
    pthread_t thread = pthread_self();
    size_t size = pthread_get_stacksize_np(thread);
    return limit((uintptr_t)pthread_get_stackaddr_np(thread) - size, size);
#elif defined(__linux__)
    pthread_attr_t attributes;
    void *lowest = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
    if (pthread_attr_getstack(&attributes, &lowest, &size) != 0) lowest = NULL;
    pthread_attr_destroy(&attributes);
    return lowest ? limit((uintptr_t)lowest, size) : 0;
#else
    return 0;
#endif
}

_Thread_local int sqlcipherkit_calls_of_thread = 0;
_Thread_local const void *sqlcipherkit_query_scope_of_thread = NULL;

uintptr_t sqlcipherkit_stack_limit(void) {
    /* The system call takes microseconds, and a thread keeps its stack. */
    static _Thread_local uintptr_t known = 0;
    if (known == 0) known = find_limit();
    return known;
}

#if !defined(__wasi__)
struct start {
    void (*body)(void *);
    void *context;
    char name[16];
};

static void *begin(void *argument) {
    struct start start = *(struct start *)argument;
    free(argument);
#if defined(__APPLE__)
    pthread_setname_np(start.name);
#elif defined(__linux__)
    pthread_setname_np(pthread_self(), start.name);
#endif
    start.body(start.context);
    return NULL;
}
#endif

int sqlcipherkit_start_thread(const char *name, size_t stack, void (*body)(void *), void *context) {
#if defined(__wasi__)
    (void)name, (void)stack, (void)body, (void)context;
    return EAGAIN;
#else
    struct start *start = malloc(sizeof *start);
    pthread_attr_t attributes;
    pthread_t thread;
    if (start == NULL) return ENOMEM;
    *start = (struct start){.body = body, .context = context};
    strncpy(start->name, name, sizeof start->name - 1);
    int error = pthread_attr_init(&attributes);
    if (error == 0) {
        error = pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        if (error == 0 && stack > 0) error = pthread_attr_setstacksize(&attributes, stack);
        if (error == 0) error = pthread_create(&thread, &attributes, begin, start);
        pthread_attr_destroy(&attributes);
    }
    if (error != 0) free(start);
    return error;
#endif
}

int sqlcipherkit_processors(void) {
#ifdef __linux__
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
#endif
#if defined(_SC_NPROCESSORS_ONLN)
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    return processors > 1 ? (int)processors : 1;
#else
    return 1;
#endif
}
