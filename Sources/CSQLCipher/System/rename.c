/* A rename that replaces nothing. */
#ifdef __linux__
#define _GNU_SOURCE 1
#endif
#include "../include/rename.h"

#include <errno.h>
#include <stdio.h>
#ifdef __linux__
#include <fcntl.h>
#endif

int sqlcipherkit_rename_exclusively(const char *from, const char *to) {
#if defined(__APPLE__)
    return renamex_np(from, to, RENAME_EXCL);
#elif defined(__linux__) && defined(RENAME_NOREPLACE)
    return renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);
#else
    (void)from;
    (void)to;
    errno = ENOSYS;
    return -1;
#endif
}
