/* Whether there are random bytes to be had. */
#pragma once

/* 0, or the errno with which the system refuses random bytes (getrandom(2)): ENOSYS or EPERM, as a rule, in a sandbox that does not
 * allow the call. With OpenSSL's provider, which has ways of its own, always 0. */
int sqlcipherkit_random_refusal(void);
