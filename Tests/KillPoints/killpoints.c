#define _GNU_SOURCE 1
#include "KillPoints.h"
#include <string.h>

#ifdef __linux__
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* The number of changes left before the kill; negative without one. */
static long left = -1;
static int mode = 0;
static int refused = 0;

/* SIZE also makes a file smaller, for which a full disk has room. */
enum kind { SYNC, WRITE, SIZE, NAME, READ };

/* The kinds that each mode counts, as bits. */
static const int counted[] = {
    [KILLPOINTS_ALL] = 1 << WRITE | 1 << SIZE | 1 << NAME,
    [KILLPOINTS_FAIL] = 1 << SYNC | 1 << WRITE | 1 << SIZE | 1 << NAME,
    [KILLPOINTS_READ] = 1 << READ,
    [KILLPOINTS_FULL] = 1 << WRITE,
};

/* 1 if the call shall fail. */
static int point(enum kind kind) {
    if (left < 0 || !(counted[mode] & 1 << kind)) return 0;
    if (mode == KILLPOINTS_FULL) {
        if (left > 1) left--;
        else left = 0;
        errno = ENOSPC;
        return left == 0;
    }
    if (left-- != 1) return 0;
    if (mode != KILLPOINTS_FAIL && mode != KILLPOINTS_READ) kill(getpid(), SIGKILL);
    errno = EIO;
    return 1;
}

/* The function of that name that this one stands before; looked up by the first call, of whichever thread. */
static void *real_function(void **known, const char *name) {
    void *function = __atomic_load_n(known, __ATOMIC_ACQUIRE);
    if (!function) __atomic_store_n(known, function = dlsym(RTLD_NEXT, name), __ATOMIC_RELEASE);
    return function;
}

/* --- The log of a run: only changes inside one folder, and files by their inodes. ------------------------------------------- */

static int record = -1;
static char folder[PATH_MAX];
static size_t folder_length;
static struct stat folder_info;

static void note(int kind, const struct stat *file, const char *first, const char *second, off_t offset, const void *bytes,
                 size_t count) {
    const int error = errno;
    struct killpoints_entry entry = {
        .kind = (uint32_t)kind,
        .first = first ? (uint32_t)strlen(first) : 0,
        .second = second ? (uint32_t)strlen(second) : 0,
        .count = (uint32_t)count,
        .file = file ? file->st_ino : 0,
        .offset = (uint64_t)offset,
    };
    const struct iovec parts[] = {
        {&entry, sizeof entry}, {(void *)first, entry.first}, {(void *)second, entry.second}, {(void *)bytes, count},
    };
    /* One call, past the functions below. */
    if (syscall(SYS_writev, record, parts, 4) < 0) _exit(99);
    errno = error;
}

/* The name of a file in the folder; NULL for all others. */
static const char *name_in_folder(const char *path) {
    if (record < 0 || strncmp(path, folder, folder_length) || path[folder_length] != '/') return NULL;
    const char *name = path + folder_length + 1;
    return strchr(name, '/') ? NULL : name;
}

/* --- The bytes that are read before they are overwritten, of files known by their inodes. ---------------------------------- */

static struct traced {
    struct stat info;
    /* For each byte of the file: untouched, or what happened to it first. */
    unsigned char *bytes;
} traced[64];
static int traced_count;
static pthread_mutex_t tracing = PTHREAD_MUTEX_INITIALIZER;
enum touch { UNTOUCHED, READ_FIRST, WRITTEN_FIRST };

static void touch(int file, enum touch how, off_t from, size_t count) {
    const int error = errno;
    struct stat info;
    if (!__atomic_load_n(&traced_count, __ATOMIC_ACQUIRE) || fstat(file, &info)) return;
    pthread_mutex_lock(&tracing);
    for (int i = 0; i < traced_count; i++) {
        const struct stat *known = &traced[i].info;
        if (known->st_ino != info.st_ino || known->st_dev != info.st_dev) continue;
        const size_t size = (size_t)known->st_size, start = (size_t)from;
        if (start >= size) continue;
        const size_t end = count < size - start ? start + count : size;
        unsigned char *at = traced[i].bytes + start, *const last = traced[i].bytes + end;
        while (at < last && (at = memchr(at, UNTOUCHED, (size_t)(last - at)))) {
            unsigned char *const from = at;
            while (at < last && *at == UNTOUCHED) at++;
            memset(from, how, (size_t)(at - from));
        }
    }
    pthread_mutex_unlock(&tracing);
    errno = error;
}

int killpoints_trace(const char *path) {
    struct stat info;
    unsigned char *bytes = NULL;
    pthread_mutex_lock(&tracing);
    int number = traced_count;
    if (number == sizeof traced / sizeof *traced || stat(path, &info) || !(bytes = calloc(1, (size_t)info.st_size + 1))) {
        number = -1;
    } else {
        traced[number] = (struct traced){info, bytes};
        __atomic_store_n(&traced_count, number + 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&tracing);
    return number;
}

int killpoints_next_read(int number, int64_t *from, int64_t *to) {
    const struct traced *file = &traced[number];
    int64_t at = *to;
    while (at < file->info.st_size && file->bytes[at] != READ_FIRST) at++;
    *from = at;
    while (at < file->info.st_size && file->bytes[at] == READ_FIRST) at++;
    *to = at;
    return *from < *to;
}

void killpoints_end_trace(void) {
    pthread_mutex_lock(&tracing);
    for (int i = 0; i < traced_count; i++) free(traced[i].bytes);
    traced_count = 0;
    pthread_mutex_unlock(&tracing);
}

static void note_file(int kind, int file, off_t offset, const void *bytes, size_t count) {
    struct stat info;
    if (kind == KILLPOINTS_WRITE) touch(file, WRITTEN_FIRST, offset, count);
    if (kind == KILLPOINTS_TRUNCATE) touch(file, WRITTEN_FIRST, offset, SIZE_MAX);
    if (record < 0 || fstat(file, &info) || info.st_dev != folder_info.st_dev) return;
    if (S_ISREG(info.st_mode)) note(kind, &info, NULL, NULL, offset, bytes, count);
    if (S_ISDIR(info.st_mode) && kind == KILLPOINTS_SYNC && info.st_ino == folder_info.st_ino) {
        note(KILLPOINTS_SYNC_FOLDER, NULL, NULL, NULL, 0, NULL, 0);
    }
}

/* The same for a path below an open folder. */
static const char *name_at(int at, const char *path) {
    struct stat info;
    if (at == AT_FDCWD || *path == '/') return name_in_folder(path);
    if (record < 0 || fstat(at, &info) || info.st_ino != folder_info.st_ino || info.st_dev != folder_info.st_dev) return NULL;
    return strchr(path, '/') ? NULL : path;
}

/* Returns a result that a call with these names, NULL outside of the folder, has had. */
static int note_names(int result, int kind, const char *first, const char *second) {
    if (result == 0 && first && (kind == KILLPOINTS_REMOVE || second)) note(kind, NULL, first, second, 0, NULL, 0);
    return result;
}

/* Whether writing to a file shall fail. A disk that is full is that of the folder, if there is one. */
static int write_point(int file) {
    if (mode == KILLPOINTS_FULL && left >= 0 && record >= 0) {
        char link[32], path[PATH_MAX];
        snprintf(link, sizeof link, "/proc/self/fd/%d", file);
        const ssize_t length = readlink(link, path, sizeof path);
        if (length <= (ssize_t)folder_length || strncmp(path, folder, folder_length) || path[folder_length] != '/') return 0;
    }
    return point(WRITE);
}

/* After a file was opened, which may not have existed before. */
static void note_opened(const char *name, int flags, int existed, int file) {
    struct stat info;
    if (record < 0 || file < 0 || fstat(file, &info) || !S_ISREG(info.st_mode)) return;
    if (!existed) note(name ? KILLPOINTS_CREATE : KILLPOINTS_FORGET, &info, name, NULL, 0, NULL, 0);
    else if (flags & O_TRUNC && name) note(KILLPOINTS_TRUNCATE, &info, NULL, NULL, 0, NULL, 0);
}

static int exists(int at, const char *path) {
    struct stat info;
    return fstatat(at, path, &info, AT_SYMLINK_NOFOLLOW) == 0;
}

void killpoints_mark(void) {
    if (record >= 0) note(KILLPOINTS_MARK, NULL, NULL, NULL, 0, NULL, 0);
}

int killpoints_record(const char *path, const char *log) {
    if (!realpath(path, folder) || lstat(folder, &folder_info)) return -1;
    folder_length = strlen(folder);
    record = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_APPEND, 0600);
    return record < 0 ? -1 : 0;
}

/* In a program that this is loaded into by LD_PRELOAD, the environment says what to record. */
__attribute__((constructor)) static void record_from_environment(void) {
    const char *path = getenv("KILLPOINTS_FOLDER"), *log = getenv("KILLPOINTS_LOG");
    if (path && log && killpoints_record(path, log)) abort();
}

/* --- The calls ------------------------------------------------------------------------------------------------------- */

#define REAL_OF_TYPE(type, name, ...)                        \
    static void *known;                                      \
    type (*real)(__VA_ARGS__);                               \
    *(void **)&real = real_function(&known, name)
#define REAL(name, ...) REAL_OF_TYPE(int, name, __VA_ARGS__)

/* A function that opens `path`, below the folder `at`. */
#define OPEN(name, at, parameters, types, ...)                            \
    int name parameters {                                                 \
        mode_t mode = 0;                                                  \
        if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) {        \
            va_list list;                                                 \
            va_start(list, flags);                                        \
            mode = va_arg(list, mode_t);                                  \
            va_end(list);                                                 \
            if (point(NAME)) return -1;                                   \
        }                                                                 \
        REAL(#name, types);                                               \
        const int existed = record < 0 || !(flags & O_CREAT) || exists(at, path); \
        const int file = real(__VA_ARGS__, flags, mode);                  \
        note_opened(name_at(at, path), flags, existed, file);             \
        return file;                                                      \
    }
#define LIST(...) __VA_ARGS__
OPEN(open, AT_FDCWD, (const char *path, int flags, ...), LIST(const char *, int, ...), path)
OPEN(open64, AT_FDCWD, (const char *path, int flags, ...), LIST(const char *, int, ...), path)
OPEN(openat, at, (int at, const char *path, int flags, ...), LIST(int, const char *, int, ...), at, path)
OPEN(openat64, at, (int at, const char *path, int flags, ...), LIST(int, const char *, int, ...), at, path)

#define WRITES(name, offset_type)                                                    \
    ssize_t name(int file, const void *bytes, size_t count, offset_type offset) {    \
        REAL_OF_TYPE(ssize_t, #name, int, const void *, size_t, offset_type);        \
        if (write_point(file)) return -1;                                            \
        const ssize_t written = real(file, bytes, count, offset);                    \
        if (written > 0) note_file(KILLPOINTS_WRITE, file, offset, bytes, (size_t)written); \
        return written;                                                              \
    }
WRITES(pwrite, off_t)
WRITES(pwrite64, off64_t)

#define READS(name, offset_type)                                                     \
    ssize_t name(int file, void *bytes, size_t count, offset_type offset) {          \
        REAL_OF_TYPE(ssize_t, #name, int, void *, size_t, offset_type);              \
        if (point(READ)) return -1;                                                  \
        touch(file, READ_FIRST, offset, count);                                      \
        return real(file, bytes, count, offset);                                     \
    }
READS(pread, off_t)
READS(pread64, off64_t)

ssize_t read(int file, void *bytes, size_t count) {
    REAL_OF_TYPE(ssize_t, "read", int, void *, size_t);
    if (__atomic_load_n(&traced_count, __ATOMIC_ACQUIRE)) touch(file, READ_FIRST, lseek(file, 0, SEEK_CUR), count);
    return real(file, bytes, count);
}

/* Foundation copies files by these. */
ssize_t sendfile(int to, int from, off_t *offset, size_t count) {
    REAL_OF_TYPE(ssize_t, "sendfile", int, int, off_t *, size_t);
    touch(from, READ_FIRST, 0, SIZE_MAX);
    return real(to, from, offset, count);
}

ssize_t sendfile64(int to, int from, off64_t *offset, size_t count) {
    REAL_OF_TYPE(ssize_t, "sendfile64", int, int, off64_t *, size_t);
    touch(from, READ_FIRST, 0, SIZE_MAX);
    return real(to, from, offset, count);
}

int fsync(int file) {
    REAL("fsync", int);
    if (point(SYNC)) return -1;
    const int result = real(file);
    if (result == 0) note_file(KILLPOINTS_SYNC, file, 0, NULL, 0);
    return result;
}

int fdatasync(int file) {
    REAL("fdatasync", int);
    if (point(SYNC)) return -1;
    const int result = real(file);
    if (result == 0) note_file(KILLPOINTS_SYNC, file, 0, NULL, 0);
    return result;
}

ssize_t write(int file, const void *bytes, size_t count) {
    REAL_OF_TYPE(ssize_t, "write", int, const void *, size_t);
    /* Not what is said to the one who waits. */
    if (file > 2 && write_point(file)) return -1;
    const ssize_t written = real(file, bytes, count);
    if ((record >= 0 || __atomic_load_n(&traced_count, __ATOMIC_ACQUIRE)) && file > 2 && written > 0) {
        note_file(KILLPOINTS_WRITE, file, lseek(file, 0, SEEK_CUR) - written, bytes, (size_t)written);
    }
    return written;
}

int ftruncate(int file, off_t size) {
    REAL("ftruncate", int, off_t);
    if (point(SIZE)) return -1;
    const int result = real(file, size);
    if (result == 0) note_file(KILLPOINTS_TRUNCATE, file, size, NULL, 0);
    return result;
}

int ftruncate64(int file, off64_t size) {
    REAL("ftruncate64", int, off64_t);
    if (point(SIZE)) return -1;
    const int result = real(file, size);
    if (result == 0) note_file(KILLPOINTS_TRUNCATE, file, size, NULL, 0);
    return result;
}

int fchmod(int file, mode_t mode) {
    REAL("fchmod", int, mode_t);
    if (point(SIZE)) return -1;
    return real(file, mode);
}

int rename(const char *from, const char *to) {
    REAL("rename", const char *, const char *);
    if (point(NAME)) return -1;
    return note_names(real(from, to), KILLPOINTS_MOVE, name_in_folder(from), name_in_folder(to));
}

int renameat(int from_folder, const char *from, int to_folder, const char *to) {
    REAL("renameat", int, const char *, int, const char *);
    if (point(NAME)) return -1;
    return note_names(real(from_folder, from, to_folder, to), KILLPOINTS_MOVE, name_at(from_folder, from), name_at(to_folder, to));
}

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags) {
    REAL("renameat2", int, const char *, int, const char *, unsigned);
    if (point(NAME)) return -1;
    if (flags && refused & 1) {
        errno = EINVAL;
        return -1;
    }
    const int result = real(from_folder, from, to_folder, to, flags);
    return note_names(result, KILLPOINTS_MOVE, name_at(from_folder, from), name_at(to_folder, to));
}

int link(const char *from, const char *to) {
    REAL("link", const char *, const char *);
    if (point(NAME)) return -1;
    if (refused & 2) {
        errno = EPERM;
        return -1;
    }
    return note_names(real(from, to), KILLPOINTS_LINK, name_in_folder(from), name_in_folder(to));
}

int unlink(const char *path) {
    REAL("unlink", const char *);
    if (point(NAME)) return -1;
    return note_names(real(path), KILLPOINTS_REMOVE, name_in_folder(path), NULL);
}

int unlinkat(int at, const char *path, int flags) {
    REAL("unlinkat", int, const char *, int);
    if (point(NAME)) return -1;
    return note_names(real(at, path, flags), KILLPOINTS_REMOVE, name_at(at, path), NULL);
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
        if (how >= KILLPOINTS_FAIL && number > 0 && left < 1) result |= KILLPOINTS_STRUCK;
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
void killpoints_mark(void) {}
int killpoints_trace(const char *path) { return (void)path, -1; }
int killpoints_next_read(int number, int64_t *from, int64_t *to) { return (void)number, (void)from, (void)to, 0; }
void killpoints_end_trace(void) {}
int killpoints_record(const char *path, const char *log) { return (void)path, (void)log, -1; }
int killpoints_run(long number, int how, int (*body)(void *), void *context) {
    return (void)number, (void)how, (void)body, (void)context, -1;
}

#endif

static uint32_t number(const unsigned char *at, int is_big) {
    return is_big ? (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3]
                  : (uint32_t)at[3] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[1] << 8 | at[0];
}

static void add_to_sum(uint32_t sum[2], const unsigned char *bytes, size_t count, int is_big) {
    for (size_t at = 0; at < count; at += 8) {
        sum[0] += number(bytes + at, is_big) + sum[1];
        sum[1] += number(bytes + at + 4, is_big) + sum[0];
    }
}

static int is_sum(const uint32_t sum[2], const unsigned char *at) { return sum[0] == number(at, 1) && sum[1] == number(at + 4, 1); }

size_t killpoints_log_end(const unsigned char *log, size_t size) {
    if (size < 32 || (number(log, 1) & ~1u) != 0x377f0682) return 0;
    const int is_big = number(log, 1) & 1;
    const size_t page = number(log + 8, 1);
    uint32_t sum[2] = {0, 0};
    add_to_sum(sum, log, 24, is_big);
    if (page < 512 || page > 65536 || !is_sum(sum, log + 24)) return 0;
    size_t end = 32;
    for (size_t at = 32; size - at >= 24 + page; at += 24 + page) {
        const unsigned char *frame = log + at;
        add_to_sum(sum, frame, 8, is_big);
        add_to_sum(sum, frame + 24, page, is_big);
        if (memcmp(frame + 8, log + 16, 8) || !is_sum(sum, frame + 16)) break;
        if (number(frame + 4, 1)) end = at + 24 + page;
    }
    return end;
}
