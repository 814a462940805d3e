/* An authorizer that is asked about everything that a statement reads. Only engine.c includes this, after the amalgamation.
 * The engine calls sqlite3SelectAddTypeInfo, and sqlite3FinishCoding calls the last function here. */
#include "../include/access.h"

void sqlcipherkit_set_authorizer(
    sqlite3 *db, int (*authorizer)(void *, int, const char *, const char *, const char *, const char *), void *context) {
    sqlcipherkit_guard_of(db)->asks_more = authorizer != NULL;
    sqlite3_set_authorizer(db, authorizer, context);
}

int sqlcipherkit_is_inner(sqlite3 *db) {
    return db->nVdbeExec > 0 || (db->pParse != NULL && db->pParse->pOuterParse != NULL);
}

/* Returns whether the authorizer is asked about everything that a statement reads, and is active: SQLite suspends it for its own
 * parses. */
static int sqlcipherkit_asks(Parse *parse) {
    sqlite3 *db = parse->db;
    if (db->xAuth == NULL || db->init.busy || parse->eParseMode != PARSE_MODE_NORMAL) return 0;
    const sqlcipherkit_guard *guard = sqlcipherkit_guard_of(db);
    return guard != NULL && guard->asks_more;
}

/* --- Columns: once the names of a query are resolved ------------------------------------------------------------- */

static int sqlcipherkit_ask_column(Walker *walker, Expr *expression) {
    if (expression->op != TK_COLUMN || !ExprUseYTab(expression) || expression->y.pTab == NULL) return WRC_Continue;
    Parse *parse = walker->pParse;
    Table *table = expression->y.pTab;
    /* Subqueries have no schema. */
    int schema = sqlcipherkit_place_in(parse->db, table->pSchema);
    if (schema < 0) return WRC_Continue;
    int column = expression->iColumn >= 0 ? expression->iColumn : table->iPKey;
    const char *name = column >= 0 ? table->aCol[column].zCnName : "ROWID";
    if (sqlite3AuthReadCol(parse, table->zName, name, schema) == SQLITE_IGNORE) expression->op = TK_NULL;
    return parse->nErr > 0 ? WRC_Abort : WRC_Continue;
}

/* Disables the indexes of a table in the FROM clause if one of them would sort its rows by columns that may not be read. The key
 * of a table WITHOUT ROWID is the table itself. */
static void sqlcipherkit_ask_order(Parse *parse, SrcItem *item) {
    sqlite3 *db = parse->db;
    Table *table = item->pSTab;
    int schema = table == NULL || IsVirtual(table) || IsView(table) ? -1 : sqlcipherkit_place_in(db, table->pSchema);
    if (schema < 0) return;
    for (Index *index = table->pIndex; index != NULL; index = index->pNext) {
        if (IsPrimaryKeyIndex(index) && !HasRowid(table)) continue;
        for (int i = 0; i < index->nKeyCol; i++) {
            int column = index->aiColumn[i];
            if (column == XN_ROWID) continue;
            const char *name = column >= 0 ? table->aCol[column].zCnName : "";
            if (db->xAuth(db->pAuthArg, SQLCIPHERKIT_SORTS_BY, table->zName, name, db->aDb[schema].zDbSName, NULL) == SQLITE_OK) {
                continue;
            }
            /* NOT INDEXED has no effect on a table WITHOUT ROWID: each of its indexes holds a key of the table. */
            if (item->fg.isIndexedBy || !HasRowid(table)) {
                sqlite3ErrorMsg(parse, "access to the indexes of %s is prohibited", table->zName);
                parse->rc = SQLITE_AUTH;
            }
            item->fg.notIndexed = 1;
            return;
        }
    }
}

static int sqlcipherkit_ask_select(Walker *walker, Select *select) {
    Parse *parse = walker->pParse;
    const char *context = parse->zAuthContext;
    for (; select != NULL; select = select->pPrior) {
        if (sqlite3WalkSelectExpr(walker, select) != WRC_Continue) return WRC_Abort;
        for (int i = 0; i < select->pSrc->nSrc; i++) {
            SrcItem *item = &select->pSrc->a[i];
            if (item->fg.isSubquery) {
                /* As in the engine's own name resolution: the innermost view. */
                if (item->zName != NULL) parse->zAuthContext = item->zName;
                int rc = sqlite3WalkSelect(walker, item->u4.pSubq->pSelect);
                parse->zAuthContext = context;
                if (rc != WRC_Continue) return WRC_Abort;
            } else {
                sqlcipherkit_ask_order(parse, item);
            }
            if (item->fg.isTabFunc && sqlite3WalkExprList(walker, item->u1.pFuncArg) != WRC_Continue) return WRC_Abort;
        }
    }
    return WRC_Prune;
}

static void sqlite3SelectAddTypeInfo(Parse *parse, Select *select) {
    upstream_sqlite3SelectAddTypeInfo(parse, select);
    if (parse->nErr > 0 || !sqlcipherkit_asks(parse)) return;
    Walker walker = {.pParse = parse, .xExprCallback = sqlcipherkit_ask_column, .xSelectCallback = sqlcipherkit_ask_select};
    sqlite3WalkSelect(&walker, select);
}

/* --- Tables: once the program is complete ------------------------------------------------------------------------ */

static int sqlcipherkit_is_instance(sqlite3 *db, Table *table, VTable *instance) {
    return table != NULL && IsVirtual(table) && sqlite3GetVTable(db, table) == instance;
}

/* The table that an instruction opens. *schema is the index of its database, -1 for a table-valued function. */
static Table *sqlcipherkit_opened(sqlite3 *db, const VdbeOp *op, int *schema) {
    HashElem *element;
    VTable *instance = op->opcode == OP_VOpen ? op->p4.pVtab : NULL;
    for (int i = 0; i < db->nDb; i++) {
        if ((instance == NULL && i != op->p3) || db->aDb[i].pSchema == NULL) continue;
        *schema = i;
        for (element = sqliteHashFirst(&db->aDb[i].pSchema->tblHash); element != NULL; element = sqliteHashNext(element)) {
            Table *table = sqliteHashData(element);
            int isOpened = instance != NULL ? sqlcipherkit_is_instance(db, table, instance)
                                            : !IsVirtual(table) && table->tnum == (Pgno)op->p2;
            if (isOpened) return table;
        }
        if (instance != NULL) continue;
        for (element = sqliteHashFirst(&db->aDb[i].pSchema->idxHash); element != NULL; element = sqliteHashNext(element)) {
            Index *index = sqliteHashData(element);
            if (index->tnum == (Pgno)op->p2) return index->pTable;
        }
    }
    *schema = -1;
    if (instance == NULL) return NULL;
    Table *function = instance->pMod->pEpoTab;
    return sqlcipherkit_is_instance(db, function, instance) ? function : NULL;
}

static void sqlcipherkit_program_is_complete(Parse *parse) {
    if (parse->nested || parse->nErr > 0 || parse->pVdbe == NULL || !sqlcipherkit_asks(parse)) return;
    sqlite3 *db = parse->db;
    for (int i = 0; i < parse->pVdbe->nOp; i++) {
        const VdbeOp *op = &parse->pVdbe->aOp[i];
        int isVirtual = op->opcode == OP_VOpen;
        if (!isVirtual && op->opcode != OP_OpenRead && op->opcode != OP_OpenWrite && op->opcode != OP_ReopenIdx) continue;
        /* The root page is in a register only if the same program creates the table. */
        if (!isVirtual && (op->p5 & OPFLAG_P2ISREG) != 0) continue;
        int schema;
        Table *table = sqlcipherkit_opened(db, op, &schema);
        const char *name = table != NULL ? table->zName : "an unknown table";
        int code = isVirtual ? SQLCIPHERKIT_OPENS_VIRTUAL_TABLE : SQLCIPHERKIT_OPENS_TABLE;
        if (db->xAuth(db->pAuthArg, code, name, NULL, schema < 0 ? NULL : db->aDb[schema].zDbSName, NULL) == SQLITE_OK) continue;
        sqlite3ErrorMsg(parse, "access to %s is prohibited", name);
        parse->rc = SQLITE_AUTH;
        return;
    }
}
