/* Where the stack of the calling thread ends. */
#ifndef SQLCIPHERKIT_STACK_H
#define SQLCIPHERKIT_STACK_H

#include <stdint.h>

/* The lowest address of the calling thread's stack, or 0 where the system does not tell
 * (pthread_getattr_np on Linux, pthread_get_stackaddr_np on Apple's systems). It takes microseconds. */
uintptr_t sqlcipherkit_stack_lowest(void);

#endif
