/* Whether this process is still the one that it was. */
#pragma once

/* How often this process and its ancestors have forked, counted in the child: if the number differs from the one remembered,
 * what was made then belongs to the parent. It changes before fork() returns, while the child has a single thread
 * (https://pubs.opengroup.org/onlinepubs/9799919799/functions/pthread_atfork.html). */
extern unsigned sqlcipherkit_fork_count;
static inline unsigned sqlcipherkit_forks(void) { return sqlcipherkit_fork_count; }
