/* Whether the system provides random bytes. */
#pragma once

/* 0, or the errno with which the system refuses random bytes (getrandom(2)): usually ENOSYS or EPERM, in a sandbox that does not
 * allow the call. Always 0 with OpenSSL's provider, which has its own sources. */
int sqlcipherkit_random_refusal(void);
