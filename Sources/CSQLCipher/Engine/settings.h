/* Settings that a pragma can change. Only engine.c includes this, after the amalgamation. */
#include "../include/settings.h"

/* The settings of one database. */
typedef struct {
    const Btree *btree;
    i64 journal_limit;
    Pgno most_pages;
    int cache_size;
    /* The pager's own number, which differs from the one above for a temporary database that no pragma has set. */
    int cache_pages;
    int spill_size;
    u8 synchronous;
    u8 is_synchronous_set;
    u8 overwriting;
    u8 locking;
    u8 journal;
} sqlcipherkit_database_settings;

struct sqlcipherkit_settings {
    u64 flags;
    int (*busy)(void *, int);
    void *busy_context;
    int (*log_hook)(void *, sqlite3 *, const char *, int);
    void *log_hook_context;
    int busy_timeout;
    int analysis_limit;
    int threads;
    u8 temp_store;
    u8 locking;
    /* 1 if LIKE is SQLite's own and distinguishes case, 0 if it ignores case; -1 if it is not SQLite's own. */
    int like;
    int count;
    sqlcipherkit_database_settings databases[SQLITE_MAX_ATTACHED + 2];
};

sqlcipherkit_settings *sqlcipherkit_new_settings(void) { return sqlite3_malloc(sizeof(sqlcipherkit_settings)); }
void sqlcipherkit_free_settings(sqlcipherkit_settings *settings) { sqlite3_free(settings); }

static int sqlcipherkit_like(sqlite3 *db) {
    const FuncDef *like = sqlite3FindFunction(db, "like", 2, SQLITE_UTF8, 0);
    if (like == NULL || like->xSFunc != likeFunc) return -1;
    return like->pUserData == (void *)&likeInfoAlt;
}

static void sqlcipherkit_read_database(const Db *database, sqlcipherkit_database_settings *settings) {
    Btree *btree = database->pBt;
    settings->btree = btree;
    if (btree == NULL) {
        /* The settings that the temporary database will have when it is opened. */
        *settings = (sqlcipherkit_database_settings){
            .journal_limit = SQLITE_DEFAULT_JOURNAL_SIZE_LIMIT, .most_pages = SQLITE_MAX_PAGE_COUNT,
            .cache_size = database->pSchema->cache_size, .cache_pages = 100, .spill_size = 1};
        return;
    }
    Pager *pager = sqlite3BtreePager(btree);
    /* Such a limit sets none, and these calls return what is set. */
    settings->journal_limit = sqlite3PagerJournalSizeLimit(pager, -2);
    settings->most_pages = sqlite3BtreeMaxPageCount(btree, 0);
    settings->cache_size = database->pSchema->cache_size;
    settings->cache_pages = pager->pPCache->szCache;
    settings->spill_size = pager->pPCache->szSpill;
    settings->synchronous = database->safety_level;
    settings->is_synchronous_set = database->bSyncSet;
    settings->overwriting = (u8)sqlite3BtreeSecureDelete(btree, -1);
    settings->locking = (u8)sqlite3PagerLockingMode(pager, -1);
    settings->journal = (u8)sqlite3PagerGetJournalMode(pager);
}

void sqlcipherkit_read_settings(sqlite3 *db, sqlcipherkit_settings *settings) {
    sqlite3_mutex_enter(db->mutex);
    settings->flags = db->flags;
    settings->busy = db->busyHandler.xBusyHandler;
    settings->busy_context = db->busyHandler.pBusyArg;
    settings->busy_timeout = db->busyTimeout;
    settings->log_hook = db->xWalCallback;
    settings->log_hook_context = db->pWalArg;
    settings->analysis_limit = db->nAnalysisLimit;
    settings->threads = sqlite3_limit(db, SQLITE_LIMIT_WORKER_THREADS, -1);
    settings->temp_store = db->temp_store;
    settings->locking = db->dfltLockMode;
    settings->like = sqlcipherkit_like(db);
    settings->count = db->nDb;
    for (int index = 0; index < db->nDb; index++) sqlcipherkit_read_database(&db->aDb[index], &settings->databases[index]);
    sqlite3_mutex_leave(db->mutex);
}

/* The bits of all pragmas that are switches, and of cache_spill. */
static u64 sqlcipherkit_switches(void) {
    u64 switches = SQLITE_CacheSpill;
    for (size_t i = 0; i < sizeof aPragmaName / sizeof *aPragmaName; i++) {
        if (aPragmaName[i].ePragTyp == PragTyp_FLAG) switches |= aPragmaName[i].iArg;
    }
    return switches;
}

static void sqlcipherkit_restore_sizes(Db *database, const sqlcipherkit_database_settings *settings) {
    Btree *btree = database->pBt;
    Pager *pager = sqlite3BtreePager(btree);
    if (sqlite3PagerJournalSizeLimit(pager, -2) != settings->journal_limit) {
        sqlite3PagerJournalSizeLimit(pager, settings->journal_limit);
    }
    if (sqlite3BtreeMaxPageCount(btree, 0) != settings->most_pages) sqlite3BtreeMaxPageCount(btree, settings->most_pages);
    if (database->pSchema->cache_size != settings->cache_size) {
        database->pSchema->cache_size = settings->cache_size;
        sqlite3BtreeSetCacheSize(btree, settings->cache_pages);
    }
    if (pager->pPCache->szSpill != settings->spill_size) sqlite3BtreeSetSpillSize(btree, settings->spill_size);
}

/* Returns whether the pagers' flags depend on what has changed. */
static int sqlcipherkit_restore_database(Db *database, const sqlcipherkit_database_settings *settings) {
    Btree *btree = database->pBt;
    Pager *pager = sqlite3BtreePager(btree);
    sqlcipherkit_restore_sizes(database, settings);
    sqlite3BtreeSecureDelete(btree, settings->overwriting);
    if (sqlite3PagerLockingMode(pager, -1) != settings->locking) sqlite3PagerLockingMode(pager, settings->locking);
    /* The use of a write-ahead log is a property of the file. */
    const int journal = sqlite3PagerGetJournalMode(pager);
    if (journal != settings->journal && journal != PAGER_JOURNALMODE_WAL
        && settings->journal != PAGER_JOURNALMODE_WAL) {
        sqlite3PagerSetJournalMode(pager, settings->journal);
    }
    /* A setting that fits the journal mode stays. */
    if (database->bSyncSet == sqlcipherkit_keeps_whole && settings->is_synchronous_set == sqlcipherkit_keeps_whole) return 0;
    int is_other = database->safety_level != settings->synchronous;
    database->safety_level = settings->synchronous;
    database->bSyncSet = settings->is_synchronous_set;
    return is_other;
}

void sqlcipherkit_restore_settings(sqlite3 *db, const sqlcipherkit_settings *settings) {
    sqlite3_mutex_enter(db->mutex);
    int is_other = 0;
    /* The first statement that needs the temporary database opens it. */
    if (db->aDb[1].pBt != NULL && settings->databases[1].btree == NULL) {
        sqlcipherkit_restore_sizes(&db->aDb[1], &settings->databases[1]);
    }
    for (int index = 0; index < db->nDb; index++) {
        for (int place = 0; place < settings->count; place++) {
            if (db->aDb[index].pBt != NULL && db->aDb[index].pBt == settings->databases[place].btree) {
                is_other |= sqlcipherkit_restore_database(&db->aDb[index], &settings->databases[place]);
                break;
            }
        }
    }
    if (db->flags != settings->flags) {
        u64 changed = (db->flags ^ settings->flags) & sqlcipherkit_switches();
        db->flags ^= changed;
        is_other |= (changed & PAGER_FLAGS_MASK) != 0;
        /* As the pragma does: a compiled statement depends on the switches. */
        if (changed != 0) sqlite3ExpirePreparedStatements(db, 0);
    }
    for (int index = 0; is_other && db->autoCommit && index < db->nDb; index++) {
        const Db *database = &db->aDb[index];
        const unsigned flags = database->safety_level | (unsigned)(db->flags & PAGER_FLAGS_MASK);
        if (database->pBt != NULL) sqlite3BtreeSetPagerFlags(database->pBt, flags);
    }
    db->busyHandler.xBusyHandler = settings->busy;
    db->busyHandler.pBusyArg = settings->busy_context;
    db->busyTimeout = settings->busy_timeout;
    db->xWalCallback = settings->log_hook;
    db->pWalArg = settings->log_hook_context;
    db->nAnalysisLimit = settings->analysis_limit;
    sqlite3_limit(db, SQLITE_LIMIT_WORKER_THREADS, settings->threads);
    /* The setting applies to a temp database that has yet to be opened. */
    db->temp_store = settings->temp_store;
    db->dfltLockMode = settings->locking;
    int like = sqlcipherkit_like(db);
    if (like != settings->like && like >= 0 && settings->like >= 0) {
        sqlite3RegisterLikeFunctions(db, settings->like);
        sqlite3ExpirePreparedStatements(db, 0);
    }
    sqlite3_mutex_leave(db->mutex);
}

void sqlcipherkit_keep_whole(sqlite3 *db, const char *schema) {
    sqlite3_mutex_enter(db->mutex);
    const int index = sqlcipherkit_place_of(db, schema);
    if (index >= 0 && index != 1) {
        db->aDb[index].bSyncSet = sqlcipherkit_keeps_whole;
        /* SQLite changes it outside of transactions alone. */
        if (db->autoCommit && db->aDb[index].pBt != NULL) sqlcipherkit_fit_durability(db->aDb[index].pBt);
    }
    sqlite3_mutex_leave(db->mutex);
}

int sqlcipherkit_is_kept_whole(sqlite3 *db, const char *schema) {
    const int index = sqlcipherkit_place_of(db, schema);
    return index >= 0 && db->aDb[index].bSyncSet == sqlcipherkit_keeps_whole;
}
