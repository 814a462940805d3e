/* Lets system calls fail. A test compiles it to a library and starts the fault driver with it in LD_PRELOAD: its functions stand
 * before those of the C library, count the calls of each kind, and let one of them, or all from one on, fail with EIO; or with
 * ENOSPC, after half of the bytes if the disk stays full; or with EMFILE. What a container or a sandbox refuses has kinds, too:
 * threads, random bytes, memory from the system, memory that stays in it, and locks.
 * Nothing is counted while no kind is chosen. Files 0 to 2, /proc and /dev never fail.
 *
 * With FAULT_SECTOR, the number of a file's inode and an offset, the 512 bytes there cannot be read. */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum kind {
    kind_none, kind_open, kind_read, kind_write, kind_sync, kind_truncate, kind_rename, kind_unlink, kind_stat, kind_full,
    kind_descriptors, kind_thread, kind_random, kind_map, kind_pin, kind_lock,
};

static atomic_int chosen;
static atomic_long first, calls;
static atomic_int lasting;

/* Chooses the calls that fail: the `number`th from now on of a kind, and those after it if `for_good`; number 0 only counts. Kind 0
 * ends it. */
void faults_choose(int kind, long number, int for_good) {
    chosen = kind_none;
    calls = 0;
    first = number;
    lasting = for_good;
    chosen = kind;
}

/* The number of calls of the chosen kind so far. */
long faults_calls(void) { return calls; }

static int fails(enum kind kind) {
    if (chosen != (int)kind) return 0;
    const long call = ++calls, number = first;
    if (number == 0 || (call != number && !(lasting && call > number))) return 0;
    static const int errors[] = {
        [kind_full] = ENOSPC, [kind_descriptors] = EMFILE, [kind_thread] = EAGAIN, [kind_random] = EPERM, [kind_map] = ENOMEM,
        [kind_pin] = ENOMEM, [kind_lock] = ENOLCK,
    };
    errno = (size_t)kind < sizeof errors / sizeof *errors && errors[kind] ? errors[kind] : EIO;
    return 1;
}

/* The number of bytes of a write that the disk has room for; -1 with an error if there is none. */
static ssize_t room(int file, size_t count) {
    if (file <= 2) return (ssize_t)count;
    if (fails(kind_write)) return -1;
    if (!fails(kind_full)) return (ssize_t)count;
    return lasting && calls == first && count > 1 ? (ssize_t)count / 2 : -1;
}

#define REAL(name) __typeof__(&name) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static int is_bad_sector(int file, size_t count, off_t offset) {
    const char *text = getenv("FAULT_SECTOR");
    if (text == NULL) return 0;
    char *rest;
    const ino_t inode = strtoull(text, &rest, 10);
    const off_t sector = strtoll(rest, NULL, 10);
    struct stat info;
    if (offset >= sector + 512 || offset + (off_t)count <= sector || fstat(file, &info) != 0 || info.st_ino != inode) return 0;
    errno = EIO;
    return 1;
}

ssize_t pread(int file, void *bytes, size_t count, off_t offset) {
    if (file > 2 && (fails(kind_read) || is_bad_sector(file, count, offset))) return -1;
    REAL(pread);
    return real(file, bytes, count, offset);
}

ssize_t pread64(int file, void *bytes, size_t count, off64_t offset) { return pread(file, bytes, count, offset); }

ssize_t read(int file, void *bytes, size_t count) {
    if (file > 2 && fails(kind_read)) return -1;
    REAL(read);
    return real(file, bytes, count);
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
    const ssize_t most = room(file, count);
    if (most < 0) return -1;
    REAL(pwrite);
    return real(file, bytes, (size_t)most, offset);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t offset) { return pwrite(file, bytes, count, offset); }

ssize_t write(int file, const void *bytes, size_t count) {
    const ssize_t most = room(file, count);
    if (most < 0) return -1;
    REAL(write);
    return real(file, bytes, (size_t)most);
}

/* Threads of Swift's own pool are not refused: what starts them tries for ever. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *context) {
    Dl_info caller;
    const int is_swifts = dladdr(__builtin_return_address(0), &caller) && strstr(caller.dli_fname, "libdispatch") != NULL;
    if (!is_swifts && fails(kind_thread)) return EAGAIN;
    REAL(pthread_create);
    return real(thread, attributes, body, context);
}

ssize_t getrandom(void *bytes, size_t count, unsigned flags) {
    if (fails(kind_random)) return -1;
    REAL(getrandom);
    return real(bytes, count, flags);
}

void *mmap(void *place, size_t size, int protection, int flags, int file, off_t offset) {
    if (fails(kind_map)) return MAP_FAILED;
    REAL(mmap);
    return real(place, size, protection, flags, file, offset);
}

int mlock(const void *place, size_t size) {
    if (fails(kind_pin)) return -1;
    REAL(mlock);
    return real(place, size);
}

/* Only what locks: unlocking cannot be refused for want of locks. */
#define FCNTL(name)                                                                                                   \
    int name(int file, int command, ...) {                                                                            \
        va_list rest;                                                                                                 \
        va_start(rest, command);                                                                                      \
        void *argument = va_arg(rest, void *);                                                                        \
        va_end(rest);                                                                                                 \
        const int locks = (command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK || command == F_OFD_SETLKW) && \
                          ((struct flock *)argument)->l_type != F_UNLCK;                                              \
        if (locks && fails(kind_lock)) return -1;                                                                     \
        REAL(name);                                                                                                   \
        return real(file, command, argument);                                                                         \
    }
FCNTL(fcntl)
FCNTL(fcntl64)

int fsync(int file) {
    if (fails(kind_sync)) return -1;
    REAL(fsync);
    return real(file);
}

int fdatasync(int file) {
    if (fails(kind_sync)) return -1;
    REAL(fdatasync);
    return real(file);
}

int ftruncate(int file, off_t size) {
    if (fails(kind_truncate)) return -1;
    REAL(ftruncate);
    return real(file, size);
}

int ftruncate64(int file, off64_t size) { return ftruncate(file, size); }

int rename(const char *from, const char *to) {
    if (fails(kind_rename)) return -1;
    REAL(rename);
    return real(from, to);
}

int link(const char *from, const char *to) {
    if (fails(kind_rename)) return -1;
    REAL(link);
    return real(from, to);
}

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags) {
    if (fails(kind_rename)) return -1;
    REAL(renameat2);
    return real(from_folder, from, to_folder, to, flags);
}

int renameat(int from_folder, const char *from, int to_folder, const char *to) {
    if (fails(kind_rename)) return -1;
    REAL(renameat);
    return real(from_folder, from, to_folder, to);
}

int unlink(const char *path) {
    if (fails(kind_unlink)) return -1;
    REAL(unlink);
    return real(path);
}

int unlinkat(int folder, const char *path, int flags) {
    if (fails(kind_unlink)) return -1;
    REAL(unlinkat);
    return real(folder, path, flags);
}

/* The calls in a folder that is open are those of a store in a folder. */
int openat(int folder, const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    if (folder >= 0 && (fails(kind_open) || fails(kind_descriptors))) return -1;
    REAL(openat);
    return real(folder, path, flags, mode);
}

int fstat(int file, struct stat *info) {
    if (file > 2 && fails(kind_stat)) return -1;
    REAL(fstat);
    return real(file, info);
}

int fstat64(int file, struct stat64 *info) {
    if (file > 2 && fails(kind_stat)) return -1;
    REAL(fstat64);
    return real(file, info);
}

/* 1 if a path is none of the kernel's own. */
static int is_file(const char *path) {
    if (strncmp(path, "/dev/shm/", 9) == 0) return 1;
    return strncmp(path, "/proc/", 6) != 0 && strncmp(path, "/dev/", 5) != 0;
}

/* Both names of open, whose mode comes with some flags only. */
#define OPEN(name)                                                                                                    \
    int name(const char *path, int flags, ...) {                                                                      \
        mode_t mode = 0;                                                                                              \
        if ((flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE) {                                             \
            va_list rest;                                                                                             \
            va_start(rest, flags);                                                                                    \
            mode = va_arg(rest, mode_t);                                                                              \
            va_end(rest);                                                                                             \
        }                                                                                                             \
        if (is_file(path) && (fails(kind_open) || fails(kind_descriptors)))                                           \
            return -1;                                                                                                \
        REAL(name);                                                                                                   \
        return real(path, flags, mode);                                                                               \
    }
OPEN(open)
OPEN(open64)
