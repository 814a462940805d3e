/* Rules for the files that the engine opens. Only engine.c includes this, after the amalgamation. */
#if SQLITE_OS_UNIX
/* Returns whether a file beside a database has another name too. A user who may write to the folder could have linked another file
 * there, to have it overwritten, or given to the owner of the database, as SQLite does for root. */
static int sqlcipherkit_is_linked(const char *path, const struct stat *info) {
    if (!S_ISREG(info->st_mode) || info->st_nlink < 2) return 0;
    return !sqlite3_strglob("*-journal", path) || !sqlite3_strglob("*-wal", path) || !sqlite3_strglob("*-shm", path);
}

/* Opens a regular file or a folder, and the system's random numbers. In place of a database, its journal or its log there may be a
 * pipe, which would be waited for, or a device: open(2) does not wait with O_NONBLOCK, which means nothing for other files. */
static int sqlcipherkit_guarded_open(const char *path, int flags, int mode) {
    const int file = open(path, flags | O_NONBLOCK, mode);
    struct stat info;
    if (file < 0 || strcmp(path, "/dev/urandom") == 0 || fstat(file, &info) != 0) return file;
    const int is_linked = sqlcipherkit_is_linked(path, &info);
    if ((S_ISREG(info.st_mode) || S_ISDIR(info.st_mode)) && !is_linked) return file;
    /* Closing one of these releases no other connection's lock. */
    close(file);
    errno = is_linked ? EMLINK : ENXIO;
    return -1;
}

/* The file layer's own function for replacing a system call. Called by its static name: sqlite3_vfs_find() would wait for the mutex
 * that is held during the start. */
static void sqlcipherkit_guard_files(void) { unixSetSystemCall(NULL, "open", (sqlite3_syscall_ptr)sqlcipherkit_guarded_open); }
#else
static void sqlcipherkit_guard_files(void) {}
#endif
