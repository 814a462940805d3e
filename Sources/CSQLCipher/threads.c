#include "include/threads.h"

unsigned sqlcipherkit_fork_count;

static void count_fork(void) { sqlcipherkit_fork_count++; }

__attribute__((constructor)) static void watch_forks(void) { pthread_atfork(NULL, NULL, count_fork); }
