/* Detects that this process is a fork of the one that it was. */
#pragma once

/* The number of times that this process and its ancestors have forked, counted in the child: if the number differs from a
 * remembered number, the objects of that time belong to the parent. It changes before fork() returns, while the child has a single
 * thread (https://pubs.opengroup.org/onlinepubs/9799919799/functions/pthread_atfork.html). */
extern unsigned sqlcipherkit_fork_count;
static inline unsigned sqlcipherkit_forks(void) { return sqlcipherkit_fork_count; }
