/* Transactions. Only engine.c includes this, after the amalgamation. */
#include "../include/transactions.h"

int sqlcipherkit_controls_transaction(sqlite3_stmt *statement) {
    static const char *const words[] = {"BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE"};
    const char *text = sqlite3_sql(statement);
    long long count = 0;
    while (sqlcipherkit_next_token(&text, &count) == SQLCIPHERKIT_TOKEN_SEMICOLON) {}
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (sqlcipherkit_is_word(text, count, words[i])) return 1;
    }
    return 0;
}

/* Returns whether a program has `FAIL`, or is for another schema, so that it will be compiled again. */
static int sqlcipherkit_has_fail(const sqlite3 *db, const VdbeOp *operations, int count) {
    for (int index = 0; index < count; index++) {
        const VdbeOp *operation = &operations[index];
        if (operation->opcode == OP_Halt || operation->opcode == OP_HaltIfNull) {
            if (operation->p2 == OE_Fail) return 1;
        } else if (operation->opcode == OP_Transaction && operation->p5 != 0) {
            const Schema *schema = db->aDb[operation->p1].pSchema;
            if (operation->p3 != schema->schema_cookie || operation->p4.i != schema->iGeneration) return 1;
        }
    }
    return 0;
}

int sqlcipherkit_may_fail_halfway(sqlite3_stmt *statement) {
    const Vdbe *program = (const Vdbe *)statement;
    if (program == NULL || program->readOnly) return 0;
    /* A program that will be compiled again may get a trigger. */
    if (program->expired || sqlcipherkit_has_fail(program->db, program->aOp, program->nOp)) return 1;
    for (const SubProgram *trigger = program->pProgram; trigger != NULL; trigger = trigger->pNext) {
        if (sqlcipherkit_has_fail(program->db, trigger->aOp, trigger->nOp)) return 1;
    }
    return 0;
}

int sqlcipherkit_step_as_compiled(sqlite3_stmt *statement) {
    Vdbe *program = (Vdbe *)statement;
    sqlite3 *db = program->db;
    if (db == NULL) return SQLITE_MISUSE;
    sqlite3_mutex_enter(db->mutex);
    int rc = sqlite3Step(program);
    sqlite3_mutex_leave(db->mutex);
    return rc;
}

int sqlcipherkit_reset(sqlite3_stmt *statement) {
    Vdbe *program = (Vdbe *)statement;
    if (program->eVdbeState == VDBE_RUN_STATE && !program->readOnly) {
        /* As OP_Halt does for a constraint. */
        program->rc = SQLITE_ABORT;
        program->errorAction = OE_Abort;
    }
    return sqlite3_reset(statement);
}

void sqlcipherkit_roll_back(sqlite3 *db) {
    sqlite3_mutex_enter(db->mutex);
    if (!db->autoCommit) {
        /* As OP_AutoCommit does. */
        sqlite3RollbackAll(db, SQLITE_ABORT_ROLLBACK);
        db->autoCommit = 1;
        sqlite3CloseSavepoints(db);
    }
    sqlite3_mutex_leave(db->mutex);
}

int sqlcipherkit_has_write_lock(sqlite3 *db, int is_exclusive) {
    sqlite3_mutex_enter(db->mutex);
    int has = sqlite3_txn_state(db, "main") == SQLITE_TXN_WRITE;
    if (has && is_exclusive) {
        const Pager *pager = sqlite3BtreePager(db->aDb[0].pBt);
        int lock = SQLITE_LOCK_NONE;
        sqlite3_file_control(db, "main", SQLITE_FCNTL_LOCKSTATE, &lock);
        /* With a log, the two are the same. No other connection sees a database in memory. */
        has = pager->pWal != NULL || pager->memDb || pager->tempFile || lock >= SQLITE_LOCK_EXCLUSIVE;
    }
    sqlite3_mutex_leave(db->mutex);
    return has;
}

int sqlcipherkit_begin_read(sqlite3 *db) {
    int rc = SQLITE_OK;
    sqlite3_mutex_enter(db->mutex);
    /* As OP_AutoCommit does, and then OP_Transaction, for each database except temp. */
    db->autoCommit = 0;
    db->busyHandler.nBusy = 0;
    for (int index = 0; rc == SQLITE_OK && index < db->nDb; index++) {
        Btree *btree = db->aDb[index].pBt;
        if (index != 1 && btree != NULL) rc = sqlite3BtreeBeginTrans(btree, 0, NULL);
    }
    sqlite3_set_errmsg(db, rc, NULL);
    sqlite3_mutex_leave(db->mutex);
    return rc;
}

int sqlcipherkit_end_read(sqlite3 *db) {
    sqlite3_mutex_enter(db->mutex);
    int is_read = !db->autoCommit && db->nVdbeActive == 0 && sqlite3_txn_state(db, NULL) != SQLITE_TXN_WRITE;
    if (is_read) {
        /* As OP_AutoCommit and sqlite3VdbeHalt do. Nothing was written, so nothing can fail. */
        db->autoCommit = 1;
        for (int index = 0; index < db->nDb; index++) {
            if (db->aDb[index].pBt != NULL) sqlite3BtreeCommit(db->aDb[index].pBt);
        }
        db->flags &= ~(u64)SQLITE_DeferFKs;
        sqlite3CloseSavepoints(db);
    }
    sqlite3_mutex_leave(db->mutex);
    return is_read;
}

void sqlcipherkit_open_logs(sqlite3 *db) {
    sqlite3_mutex_enter(db->mutex);
    for (int index = 0; db->autoCommit && index < db->nDb; index++) {
        Btree *btree = db->aDb[index].pBt;
        if (index == 1 || btree == NULL || sqlite3BtreePager(btree)->pWal != NULL) continue;
        db->busyHandler.nBusy = 0;
        /* The first read opens the log. A database that cannot be read now reports its error at its next read. */
        if (sqlite3BtreeBeginTrans(btree, 0, NULL) == SQLITE_OK) sqlite3BtreeCommit(btree);
    }
    sqlite3_mutex_leave(db->mutex);
}

int sqlcipherkit_refuses_commit(sqlite3 *db) { return (db->flags & SQLITE_CorruptRdOnly) != 0; }

void sqlcipherkit_allow_commit(sqlite3 *db) { db->flags &= ~(u64)SQLITE_CorruptRdOnly; }

void sqlcipherkit_unlock(sqlite3 *db, const char *schema) {
    sqlite3_mutex_enter(db->mutex);
    Btree *btree = sqlcipherkit_btree(db, schema);
    if (btree != NULL) {
        sqlite3BtreeEnter(btree);
        Pager *pager = sqlite3BtreePager(btree);
        sqlite3PagerLockingMode(pager, PAGER_LOCKINGMODE_NORMAL);
        pagerUnlockIfUnused(pager);
        sqlite3BtreeLeave(btree);
    }
    sqlite3_mutex_leave(db->mutex);
}

void sqlcipherkit_leave_transaction(sqlite3 *db, const char *schema) {
    sqlite3_mutex_enter(db->mutex);
    Btree *btree = sqlcipherkit_btree(db, schema);
    if (btree != NULL) {
        /* The rows that other statements are on are none of its own. */
        const int readers = db->nVdbeRead;
        db->nVdbeRead = 0;
        sqlite3BtreeRollback(btree, SQLITE_OK, 0);
        db->nVdbeRead = readers;
    }
    sqlite3_mutex_leave(db->mutex);
}
