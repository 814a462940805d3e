/* How long a wait for a lock is. */
#pragma once

/* The microseconds to wait before an attempt to get a lock is repeated, after `count` others: a millisecond at first, later five,
 * more or less. */
int sqlcipherkit_busy_delay(int count);
