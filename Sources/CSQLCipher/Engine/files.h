/* Rules for the files that the engine opens, and what is true of their errors. Only engine.c includes this, after the amalgamation.
 *
 * SQLite reports a failing disk as a damaged database, a lock that cannot be lowered or a folder that cannot be flushed as a
 * failure of a commit that is done, and a lock that the system refuses as one that another connection has, for which each call then
 * waits. SQLite calls its file layer through tables of functions, and lets programs replace the system calls. Functions of ours
 * stand in both, and report what is true.
 */
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

/* Asks again for a lock that the system refuses, because it has no more or a file server is away: that may be over in a moment. */
static int sqlcipherkit_guarded_fcntl(int file, int operation, ...) {
    va_list rest;
    va_start(rest, operation);
    struct flock *const lock = operation == F_SETLK || operation == F_GETLK ? va_arg(rest, struct flock *) : NULL;
    int rc = lock != NULL ? fcntl(file, operation, lock) : fcntl(file, operation, va_arg(rest, int));
    va_end(rest);
    for (int attempts = 0; operation == F_SETLK && rc < 0 && errno == ENOLCK && attempts < 5; attempts++) {
        usleep(1000);
        rc = fcntl(file, operation, lock);
    }
    return rc;
}

/* The methods of a file, with ours among them. */
typedef struct {
    sqlite3_io_methods ours;
    const sqlite3_io_methods *theirs;
} sqlcipherkit_methods;

static const sqlite3_io_methods *sqlcipherkit_theirs(const sqlite3_file *file) {
    return ((const sqlcipherkit_methods *)file->pMethods)->theirs;
}

/* SQLite has a special code for some disk errors, which it then reports as damage of the database. */
static int sqlcipherkit_file_read(sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset) {
    const int rc = sqlcipherkit_theirs(file)->xRead(file, bytes, count, offset);
    return rc == SQLITE_IOERR_CORRUPTFS ? SQLITE_IOERR_READ : rc;
}

/* SQLite reports a lock that the system refuses as another connection's, and leaves the reason in errno. No other connection has
 * it: there is nothing to wait for. */
static int sqlcipherkit_lock_result(int rc) { return rc == SQLITE_BUSY && errno == ENOLCK ? SQLITE_IOERR_LOCK : rc; }

static int sqlcipherkit_file_lock(sqlite3_file *file, int level) {
    errno = 0;
    return sqlcipherkit_lock_result(sqlcipherkit_theirs(file)->xLock(file, level));
}

static int sqlcipherkit_log_map(sqlite3_file *file, int region, int size, int extends, void volatile **found) {
    errno = 0;
    return sqlcipherkit_lock_result(sqlcipherkit_theirs(file)->xShmMap(file, region, size, extends, found));
}

static int sqlcipherkit_log_lock(sqlite3_file *file, int first, int count, int flags) {
    const sqlite3_io_methods *const theirs = sqlcipherkit_theirs(file);
    /* Unlocking is never refused, and must not hide the reason of an error before it. */
    if ((flags & SQLITE_SHM_UNLOCK) != 0) return theirs->xShmLock(file, first, count, flags);
    errno = 0;
    return sqlcipherkit_lock_result(theirs->xShmLock(file, first, count, flags));
}

/* A lock is lowered after a commit. If the system refuses that, the lock stays as it was until it is released, and the commit is
 * done all the same. */
static int sqlcipherkit_file_unlock(sqlite3_file *file, int level) {
    const int rc = sqlcipherkit_theirs(file)->xUnlock(file, level);
    return level == SQLITE_LOCK_SHARED ? SQLITE_OK : rc;
}

/* The removal of a journal commits. Where its folder cannot be flushed, a power cut could bring the journal back: it is emptied
 * before the commit counts as done, as an empty journal undoes nothing. A super-journal undoes even if it is empty: without a flush
 * the commit fails, unless the file system has no flush of folders, as some of networks. */
static int (*sqlcipherkit_upstream_delete)(sqlite3_vfs *, const char *, int);
static int sqlcipherkit_file_delete(sqlite3_vfs *vfs, const char *path, int sync) {
    const int is_journal = (sync & 1) && sqlite3_strglob("*-journal", path) == 0;
    const int journal = is_journal ? open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC) : -1;
    int rc = sqlcipherkit_upstream_delete(vfs, path, sync);
    if (rc == SQLITE_IOERR_DIR_FSYNC) {
        const int has_none = errno == EINVAL || errno == ENOTSUP || errno == ENOSYS;
        const int is_emptied = journal >= 0 && ftruncate(journal, 0) == 0 && fsync(journal) == 0;
        if (is_emptied || (has_none && !is_journal)) rc = SQLITE_OK;
    }
    if (journal >= 0) close(journal);
    return rc;
}

static int (*sqlcipherkit_upstream_open)(sqlite3_vfs *, const char *, sqlite3_file *, int, int *);
static int sqlcipherkit_file_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags, int *opened) {
    /* SQLite has a table of methods for each way of locking, at most seven on any system. */
    static sqlcipherkit_methods tables[7];
    const int rc = sqlcipherkit_upstream_open(vfs, path, file, flags, opened);
    if (file->pMethods == NULL) return rc;
    sqlite3_mutex *const mutex = sqlite3_mutex_alloc(SQLITE_MUTEX_STATIC_VFS1);
    sqlite3_mutex_enter(mutex);
    sqlcipherkit_methods *table = tables, *const end = &tables[sizeof tables / sizeof *tables];
    while (table < end && table->theirs != NULL && table->theirs != file->pMethods) table++;
    if (table < end && table->theirs == NULL) {
        table->theirs = file->pMethods;
        table->ours = *table->theirs;
        table->ours.xRead = sqlcipherkit_file_read;
        table->ours.xLock = sqlcipherkit_file_lock;
        table->ours.xUnlock = sqlcipherkit_file_unlock;
        if (table->ours.xShmMap != NULL) {
            table->ours.xShmMap = sqlcipherkit_log_map;
            table->ours.xShmLock = sqlcipherkit_log_lock;
        }
    }
    if (table < end) file->pMethods = &table->ours;
    sqlite3_mutex_leave(mutex);
    return rc;
}

static sqlite3_vfs *sqlcipherkit_layer;

/* Called before the first file is opened, and not under MAIN, which guards the list of file layers: sqlite3_vfs_find takes it. */
static void sqlcipherkit_guard_files(void) {
    sqlite3_vfs *each = sqlite3_vfs_find(NULL), *const layer = sqlite3_vfs_find("unix");
    sqlite3_mutex *const mutex = sqlite3_mutex_alloc(SQLITE_MUTEX_STATIC_MAIN);
    sqlite3_mutex_enter(mutex);
    layer->xSetSystemCall(layer, "open", (sqlite3_syscall_ptr)sqlcipherkit_guarded_open);
    layer->xSetSystemCall(layer, "fcntl", (sqlite3_syscall_ptr)sqlcipherkit_guarded_fcntl);
    if (sqlcipherkit_layer == NULL) {
        sqlcipherkit_upstream_open = layer->xOpen;
        sqlcipherkit_upstream_delete = layer->xDelete;
    }
    sqlcipherkit_layer = layer;
    /* SQLite has this layer under a name for each way of locking. */
    for (; each != NULL; each = each->pNext) {
        if (each->xOpen != sqlcipherkit_upstream_open) continue;
        each->xOpen = sqlcipherkit_file_open;
        each->xDelete = sqlcipherkit_file_delete;
    }
    sqlite3_mutex_leave(mutex);
}
#else
static void sqlcipherkit_guard_files(void) {}
#endif
