/* pthread_getattr_np is GNU's, in glibc and in musl; on Apple's systems the macro does nothing. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include <pthread.h>
#include <stddef.h>

#include "../include/thread.h"

uintptr_t sqlcipherkit_stack_lowest(void) {
#if defined(__APPLE__)
    pthread_t thread = pthread_self();
    return (uintptr_t)pthread_get_stackaddr_np(thread) - pthread_get_stacksize_np(thread);
#elif defined(__linux__)
    pthread_attr_t attributes;
    void *lowest = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
    if (pthread_attr_getstack(&attributes, &lowest, &size) != 0) lowest = NULL;
    pthread_attr_destroy(&attributes);
    return (uintptr_t)lowest;
#else
    return 0;
#endif
}
