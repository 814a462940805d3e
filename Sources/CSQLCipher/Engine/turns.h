/* How writers wait for each other. Only engine.c includes this, after the amalgamation.
 *
 * SQLite waits up to 100 ms between two attempts to get a lock. A connection that commits without pause releases the lock for some
 * microseconds at a time, so others find it free by chance: for seconds they do not, and the wait ends as busy.
 *
 * Here one of those that wait has the turn: a lock on a byte of the database's file, beyond SQLite's own. Who has it tries again
 * every millisecond, and gives it back with the first success. Who begins to write while another has the turn waits until it is
 * given back. The system releases it with the process. A holder that does not move, as a process that was stopped, is waited for
 * once. Other programs' SQLite knows nothing of turns, and competes for the lock itself as before.
 */
#include "../include/turns.h"

/* The times in microseconds for which attempts wait: short at first, as most transactions are. */
enum { turn_short = 1000, turn_long = 5000, turn_short_count = 100 };

static int sqlcipherkit_nominal_delay(int count) { return count < turn_short_count ? turn_short : turn_long; }

/* About the nominal delay: those that began to wait at the same time come at different times. */
int sqlcipherkit_busy_delay(int count) {
    static unsigned state = 1;
    unsigned next = __atomic_load_n(&state, __ATOMIC_RELAXED) * 1664525u + 1013904223u;
    __atomic_store_n(&state, next, __ATOMIC_RELAXED);
    const int nominal = sqlcipherkit_nominal_delay(count);
    return nominal / 2 + (int)((next >> 8) % (unsigned)nominal);
}

/* What sqlite3_busy_timeout installs. */
static int sqliteDefaultBusyCallback(void *argument, int count) {
    sqlite3 *db = argument;
    const i64 waited = count < turn_short_count
        ? (i64)count * turn_short : (i64)turn_short_count * turn_short + (i64)(count - turn_short_count) * turn_long;
    const i64 left = (i64)db->busyTimeout * 1000 - waited;
    if (left <= 0) return 0;
    const int delay = sqlcipherkit_busy_delay(count);
    sqlite3OsSleep(db->pVfs, left < delay ? (int)left : delay);
    return 1;
}

#if SQLITE_OS_UNIX
/* The byte: SQLite's locks are on the 512 from PENDING_BYTE on. */
static const int turn_offset = 1024;

/* Which connections of this process have turns. */
static struct { const unixInodeInfo *file; const Btree *owner; } turn_owners[32];
static int turn_owner_count;
static pthread_mutex_t turn_mutex = PTHREAD_MUTEX_INITIALIZER;

/* The file on whose locks writers wait, if it is one of SQLite's own file layer. */
static unixFile *sqlcipherkit_turn_file(Pager *pager) {
    unixFile *file = (unixFile *)pager->fd;
    if (pager->memDb || pager->tempFile || pager->exclusiveMode || file == NULL || file->pMethod != &posixIoMethods) return NULL;
    return file;
}

static int sqlcipherkit_turn_lock(const unixFile *file, int command, short type, pid_t *holder) {
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = PENDING_BYTE + turn_offset, .l_len = 1};
    const int rc = fcntl(file->h, command, &lock);
    if (holder != NULL) *holder = rc == 0 && lock.l_type != F_UNLCK ? lock.l_pid : 0;
    return rc == 0;
}

/* The slot of the owner of a file's turn in this process, or else -1. Under the mutex. */
static int sqlcipherkit_turn_slot(const unixFile *file) {
    for (int slot = 0; slot < ArraySize(turn_owners); slot++) {
        if (turn_owners[slot].owner != NULL && turn_owners[slot].file == file->pInode) return slot;
    }
    return -1;
}

/* Takes the turn, if it is free. */
static int sqlcipherkit_take_turn(const unixFile *file, const Btree *btree) {
    int is_taken = 0;
    pthread_mutex_lock(&turn_mutex);
    for (int slot = 0; slot < ArraySize(turn_owners) && sqlcipherkit_turn_slot(file) < 0; slot++) {
        if (turn_owners[slot].owner != NULL) continue;
        is_taken = sqlcipherkit_turn_lock(file, F_SETLK, F_WRLCK, NULL);
        if (!is_taken) break;
        turn_owners[slot].file = file->pInode;
        turn_owners[slot].owner = btree;
        __atomic_add_fetch(&turn_owner_count, 1, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&turn_mutex);
    return is_taken;
}

static void sqlcipherkit_give_turn_back(const unixFile *file) {
    pthread_mutex_lock(&turn_mutex);
    const int slot = sqlcipherkit_turn_slot(file);
    if (slot >= 0) {
        turn_owners[slot].owner = NULL;
        __atomic_sub_fetch(&turn_owner_count, 1, __ATOMIC_RELAXED);
        sqlcipherkit_turn_lock(file, F_SETLK, F_UNLCK, NULL);
    }
    pthread_mutex_unlock(&turn_mutex);
}

/* Takes the lock of a turn again: without a log, SQLite's unlocking of a file that no connection of this process reads any more
 * releases all locks, also this one. */
static int sqlcipherkit_keep_turn(const unixFile *file) {
    pthread_mutex_lock(&turn_mutex);
    const int is_kept = sqlcipherkit_turn_lock(file, F_SETLK, F_WRLCK, NULL);
    pthread_mutex_unlock(&turn_mutex);
    if (!is_kept) sqlcipherkit_give_turn_back(file);
    return is_kept;
}

/* Whether the system's coarse clock has moved since a writer of this file asked last, which is after some milliseconds. */
static int sqlcipherkit_turn_is_due(const unixFile *file) {
    static unsigned long long asked[64];
    struct timespec now;
#ifdef CLOCK_MONOTONIC_COARSE
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    const unsigned long long tick = (unsigned long long)now.tv_sec * 1000000000u + (unsigned long long)now.tv_nsec;
#else
    clock_gettime(CLOCK_MONOTONIC, &now);
    const unsigned long long tick = (unsigned long long)now.tv_sec * 500u + (unsigned long long)now.tv_nsec / 2000000u;
#endif
    const unsigned long long own = tick ^ (unsigned long long)(uintptr_t)file->pInode << 16;
    unsigned long long *slot = &asked[((uintptr_t)file->pInode >> 6) % ArraySize(asked)];
    if (__atomic_load_n(slot, __ATOMIC_RELAXED) == own) return 0;
    __atomic_store_n(slot, own, __ATOMIC_RELAXED);
    return 1;
}

/* Whether a file's turn is held by a process that did not move when it was waited for last. Of each file, the last such holder is
 * remembered; `notes` one. */
static int sqlcipherkit_is_stopped(const unixFile *file, pid_t holder, int notes) {
    static unsigned long long stopped[64];
    const unsigned long long own = (unsigned)((uintptr_t)file->pInode >> 4);
    const unsigned long long noted = (unsigned long long)holder << 32 | own;
    unsigned long long *slot = &stopped[((uintptr_t)file->pInode >> 6) % ArraySize(stopped)];
    const unsigned long long last = __atomic_load_n(slot, __ATOMIC_RELAXED);
    if (notes) __atomic_store_n(slot, noted, __ATOMIC_RELAXED);
    /* It has moved, if another has the turn now. */
    if (!notes && last != noted && (unsigned)last == own) __atomic_store_n(slot, 0, __ATOMIC_RELAXED);
    return last == noted;
}

/* Whether another has the turn; `attempts` have waited for it. */
static int sqlcipherkit_must_wait(const unixFile *file, int attempts) {
    if (attempts == 0 && !sqlcipherkit_turn_is_due(file)) return 0;
    if (attempts > turn_short_count) return 0;
    if (__atomic_load_n(&turn_owner_count, __ATOMIC_RELAXED) > 0) {
        pthread_mutex_lock(&turn_mutex);
        const int is_here = sqlcipherkit_turn_slot(file) >= 0;
        pthread_mutex_unlock(&turn_mutex);
        if (is_here) return 1;
    }
    pid_t holder = 0;
    sqlcipherkit_turn_lock(file, F_GETLK, F_WRLCK, &holder);
    if (sqlcipherkit_is_stopped(file, holder, 0) || holder == 0) return 0;
    if (attempts == turn_short_count) sqlcipherkit_is_stopped(file, holder, 1);
    return 1;
}

static int sqlcipherkit_begin_in_turn(Btree *btree, int writes, int *version) {
    BtShared *shared = btree->pBt;
    BusyHandler *handler = &btree->db->busyHandler;
    unixFile *file = writes && shared->inTransaction == TRANS_NONE && handler->xBusyHandler != NULL
        ? sqlcipherkit_turn_file(shared->pPager) : NULL;
    if (file == NULL || handler->nBusy < 0) return upstream_btreeBeginTrans(btree, writes, version);
    int rc, has_turn = 0;
    for (int attempts = 0;; attempts++) {
        if (!has_turn && sqlcipherkit_must_wait(file, attempts)) {
            rc = SQLITE_BUSY;
        } else {
            /* Below zero, the handler is not called. */
            const int count = handler->nBusy;
            handler->nBusy = -1;
            rc = upstream_btreeBeginTrans(btree, writes, version);
            handler->nBusy = count;
        }
        if ((rc & 0xff) != SQLITE_BUSY || shared->inTransaction != TRANS_NONE) break;
        has_turn = has_turn ? sqlcipherkit_keep_turn(file) : sqlcipherkit_take_turn(file, btree);
        if (!sqlite3InvokeBusyHandler(handler)) break;
    }
    if (has_turn) sqlcipherkit_give_turn_back(file);
    return rc;
}
#else
static int sqlcipherkit_begin_in_turn(Btree *btree, int writes, int *version) {
    return upstream_btreeBeginTrans(btree, writes, version);
}
#endif

static SQLITE_NOINLINE int btreeBeginTrans(Btree *btree, int writes, int *version) {
    const int rc = sqlcipherkit_begin_in_turn(btree, writes, version);
    if (writes && rc == SQLITE_OK) sqlcipherkit_fit_durability(btree);
    return rc;
}
