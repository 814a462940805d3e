/* The system's refusals to provide random bytes. */
#pragma once

/* The errno with which the system has refused random bytes to the calling thread (getrandom(2)), usually ENOSYS or EPERM, in a
 * sandbox that does not allow the call; 0 if it has refused none since the last call of this function. Always 0 with OpenSSL's
 * provider, which has its own sources. */
int sqlcipherkit_take_random_refusal(void);
