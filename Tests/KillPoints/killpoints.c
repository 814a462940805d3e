#define _GNU_SOURCE 1
#include "KillPoints.h"

#ifdef __linux__
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* How many changes are left before the kill; negative without one. */
static long left = -1;
static int mode = 0;
static int refused = 0;

enum kind { SYNC, WRITE, NAME };

/* Whether the call shall fail. */
static int point(enum kind kind) {
    if (left < 0 || (mode == KILLPOINTS_NAMES && kind != NAME) || (mode != KILLPOINTS_FAIL && kind == SYNC)) return 0;
    if (left-- != 1) return 0;
    if (mode != KILLPOINTS_FAIL) kill(getpid(), SIGKILL);
    errno = EIO;
    return 1;
}

/* The function of that name that this one stands before; looked up by the first call, of whichever thread. */
static void *real_function(void **known, const char *name) {
    void *function = __atomic_load_n(known, __ATOMIC_ACQUIRE);
    if (!function) __atomic_store_n(known, function = dlsym(RTLD_NEXT, name), __ATOMIC_RELEASE);
    return function;
}

#define REAL_OF_TYPE(type, name, ...)                        \
    static void *known;                                      \
    type (*real)(__VA_ARGS__);                               \
    *(void **)&real = real_function(&known, name)
#define REAL(name, ...) REAL_OF_TYPE(int, name, __VA_ARGS__)

#define OPEN(name)                                           \
    int name(const char *path, int flags, ...) {             \
        mode_t mode = 0;                                     \
        if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) { \
            va_list list;                                    \
            va_start(list, flags);                           \
            mode = va_arg(list, mode_t);                     \
            va_end(list);                                    \
            if (point(NAME)) return -1;                       \
        }                                                    \
        REAL(#name, const char *, int, ...);                 \
        return real(path, flags, mode);                      \
    }
OPEN(open)
OPEN(open64)

#define WRITES(name, offset_type)                                                    \
    ssize_t name(int file, const void *bytes, size_t count, offset_type offset) {    \
        REAL_OF_TYPE(ssize_t, #name, int, const void *, size_t, offset_type);        \
        if (point(WRITE)) return -1;                                                 \
        return real(file, bytes, count, offset);                                     \
    }
WRITES(pwrite, off_t)
WRITES(pwrite64, off64_t)

int fsync(int file) {
    REAL("fsync", int);
    if (point(SYNC)) return -1;
    return real(file);
}

int fdatasync(int file) {
    REAL("fdatasync", int);
    if (point(SYNC)) return -1;
    return real(file);
}

ssize_t write(int file, const void *bytes, size_t count) {
    REAL_OF_TYPE(ssize_t, "write", int, const void *, size_t);
    /* Not what is said to the one who waits. */
    if (file > 2 && point(WRITE)) return -1;
    return real(file, bytes, count);
}

int ftruncate(int file, off_t size) {
    REAL("ftruncate", int, off_t);
    if (point(WRITE)) return -1;
    return real(file, size);
}

int ftruncate64(int file, off64_t size) {
    REAL("ftruncate64", int, off64_t);
    if (point(WRITE)) return -1;
    return real(file, size);
}

int fchmod(int file, mode_t mode) {
    REAL("fchmod", int, mode_t);
    if (point(WRITE)) return -1;
    return real(file, mode);
}

int rename(const char *from, const char *to) {
    REAL("rename", const char *, const char *);
    if (point(NAME)) return -1;
    return real(from, to);
}

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags) {
    REAL("renameat2", int, const char *, int, const char *, unsigned);
    if (point(NAME)) return -1;
    if (flags && refused & 1) {
        errno = EINVAL;
        return -1;
    }
    return real(from_folder, from, to_folder, to, flags);
}

int link(const char *from, const char *to) {
    REAL("link", const char *, const char *);
    if (point(NAME)) return -1;
    if (refused & 2) {
        errno = EPERM;
        return -1;
    }
    return real(from, to);
}

int unlink(const char *path) {
    REAL("unlink", const char *);
    if (point(NAME)) return -1;
    return real(path);
}

int killpoints_supported(void) { return 1; }

void killpoints_refuse(int calls) { refused = calls; }

int killpoints_run(long number, int how, int (*body)(void *), void *context) {
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) return -1;
    if (child == 0) {
        left = number > 0 ? number : -1;
        mode = how;
        int result = body(context);
        if (how == KILLPOINTS_FAIL && number > 0 && left < 1) result |= KILLPOINTS_STRUCK;
        left = -1;
        fflush(NULL);
        _exit(result);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

#else

int killpoints_supported(void) { return 0; }
void killpoints_refuse(int calls) { (void)calls; }
int killpoints_run(long number, int how, int (*body)(void *), void *context) {
    return (void)number, (void)how, (void)body, (void)context, -1;
}

#endif
