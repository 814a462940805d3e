/* The Linux kernel's key retention service, by system call: glibc has no wrapper for it, and this avoids the usual library.
 * https://man7.org/linux/man-pages/man7/keyrings.7.html
 */
#pragma once

#ifdef __linux__
#include <stddef.h>
#include <stdint.h>

/* Keyrings by the numbers of keyctl(2); negative ones stand for the caller's own. */
enum {
    SQLCIPHERKIT_KEYRING_THREAD = -1,
    SQLCIPHERKIT_KEYRING_PROCESS = -2,
    SQLCIPHERKIT_KEYRING_SESSION = -3,
    SQLCIPHERKIT_KEYRING_USER = -4,
    SQLCIPHERKIT_KEYRING_USER_SESSION = -5
};

/* Puts `count` bytes into a keyring as a key of the type "user", in place of one with the same description (add_key(2)).
 * Returns the key's number, or a negated errno. */
int64_t sqlcipherkit_keyring_add(int keyring, const char *description, const void *bytes, size_t count);

/* Searches a keyring, and those linked to it, for the "user" key with a description. Returns its number, or a negated errno, ENOKEY
 * if there is none (keyctl(2), KEYCTL_SEARCH). If `destination` is not 0, the key is linked to that keyring, too. */
int64_t sqlcipherkit_keyring_search(int keyring, const char *description, int destination);

/* Copies the description of a key, "type;uid;gid;permissions;name" with a NUL, if there is room for it. Returns its size, or a
 * negated errno (KEYCTL_DESCRIBE). */
int64_t sqlcipherkit_keyring_describe(int64_t key, char *text, size_t count);

/* Copies at most `count` bytes of a key. Returns the key's whole size, which may be larger, or a negated errno
 * (KEYCTL_READ). */
int64_t sqlcipherkit_keyring_read(int64_t key, void *bytes, size_t count);

/* Lets a key expire after `seconds`, or never if that is 0. Returns 0 or a negated errno (KEYCTL_SET_TIMEOUT). */
int64_t sqlcipherkit_keyring_set_timeout(int64_t key, unsigned seconds);

/* Removes a key from a keyring. Returns 0 or a negated errno (KEYCTL_UNLINK). */
int64_t sqlcipherkit_keyring_unlink(int keyring, int64_t key);

#endif
