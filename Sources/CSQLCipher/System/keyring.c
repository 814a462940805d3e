/* keyring.h. */
#ifdef __linux__
#define _GNU_SOURCE 1
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/keyctl.h>
#include "../include/keyring.h"

static int64_t result(long value) { return value < 0 ? -(int64_t)errno : value; }

int64_t sqlcipherkit_keyring_add(int keyring, const char *description, const void *bytes, size_t count) {
    return result(syscall(SYS_add_key, "user", description, bytes, count, keyring));
}

int64_t sqlcipherkit_keyring_search(int keyring, const char *description, int destination) {
    return result(syscall(SYS_keyctl, KEYCTL_SEARCH, (long)keyring, "user", description, (long)destination));
}

int64_t sqlcipherkit_keyring_describe(int64_t key, char *text, size_t count) {
    return result(syscall(SYS_keyctl, KEYCTL_DESCRIBE, (long)key, text, count, 0L));
}

int64_t sqlcipherkit_keyring_read(int64_t key, void *bytes, size_t count) {
    return result(syscall(SYS_keyctl, KEYCTL_READ, (long)key, bytes, count, 0L));
}

int64_t sqlcipherkit_keyring_set_timeout(int64_t key, unsigned seconds) {
    return result(syscall(SYS_keyctl, KEYCTL_SET_TIMEOUT, (long)key, (long)seconds, 0L, 0L));
}

int64_t sqlcipherkit_keyring_unlink(int keyring, int64_t key) {
    return result(syscall(SYS_keyctl, KEYCTL_UNLINK, (long)key, (long)keyring, 0L, 0L));
}
#endif
