/* Copies and compares tables and indexes as they are stored. Only engine.c includes this, after the amalgamation. */
#include "../include/trees.h"

/* One of the two trees: the source, which is read, or the target, which is filled or compared with it. */
typedef struct {
    sqlite3 *db;
    Btree *btree;
    BtCursor *cursor;
    /* NULL for a table with row ids. No key is compared by it. */
    KeyInfo *keys;
    int is_at_end;
} sqlcipherkit_tree;

struct sqlcipherkit_trees {
    sqlcipherkit_tree source, target;
    int has_begun, has_failed_at_target;
    i64 last_id;
};

static int sqlcipherkit_begin_writing(sqlite3 *to) {
    return sqlite3_txn_state(to, "main") == SQLITE_TXN_WRITE ? SQLITE_OK : sqlite3BtreeBeginTrans(to->aDb[0].pBt, 1, NULL);
}

int sqlcipherkit_copy_header(sqlite3 *from, const char *schema, sqlite3 *to) {
    /* Where the header has the schema's cookie and its format, the cache's size, the encoding of text, user_version and
     * application_id (https://sqlite.org/fileformat2.html#the_database_header). SQLite numbers the fields from byte 36 on. */
    static const struct { unsigned char place, added; } numbers[] = {{40, 1}, {44, 0}, {48, 0}, {56, 0}, {60, 0}, {68, 0}};
    Btree *source = sqlcipherkit_btree(from, schema), *target = to->aDb[0].pBt;
    if (source == NULL || sqlite3_txn_state(from, schema) == SQLITE_TXN_NONE || to->autoCommit) return SQLITE_MISUSE;
    int rc = sqlcipherkit_begin_writing(to);
    for (size_t i = 0; rc == SQLITE_OK && i < sizeof numbers / sizeof *numbers; i++) {
        const int number = (numbers[i].place - 36) / 4;
        u32 value = 0;
        sqlite3BtreeGetMeta(source, number, &value);
        rc = sqlite3BtreeUpdateMeta(target, number, value + numbers[i].added);
    }
    return rc;
}

int sqlcipherkit_make_tree(sqlite3 *to, int is_table, unsigned int *root) {
    if (to->autoCommit) return SQLITE_MISUSE;
    int rc = sqlcipherkit_begin_writing(to);
    if (rc == SQLITE_OK) rc = sqlite3BtreeCreateTable(to->aDb[0].pBt, root, is_table ? BTREE_INTKEY : BTREE_BLOBKEY);
    return rc;
}

static int sqlcipherkit_open_tree(sqlcipherkit_tree *tree, sqlite3 *db, Btree *btree, unsigned int root, int is_table, int writes) {
    tree->db = db;
    tree->btree = btree;
    if (!is_table && (tree->keys = sqlite3KeyInfoAlloc(db, 1, 0)) == NULL) return SQLITE_NOMEM;
    BtCursor *cursor = sqlite3_malloc64(sizeof *cursor);
    if (cursor == NULL) return SQLITE_NOMEM;
    memset(cursor, 0, sizeof *cursor);
    int rc = sqlite3BtreeCursor(btree, root, writes ? BTREE_WRCSR : 0, tree->keys, cursor);
    if (rc == SQLITE_OK) {
        tree->cursor = cursor;
    } else {
        sqlite3_free(cursor);
    }
    return rc;
}

int sqlcipherkit_open_trees(
    sqlite3 *from, const char *schema, unsigned int root, sqlite3 *to, unsigned int to_root, int is_table, int is_filled,
    sqlcipherkit_trees **opened
) {
    *opened = NULL;
    Btree *source = sqlcipherkit_btree(from, schema), *target = to->aDb[0].pBt;
    /* A cursor reads pages without asking for a lock. */
    if (source == NULL || sqlite3_txn_state(from, schema) == SQLITE_TXN_NONE) return SQLITE_MISUSE;
    const int needed = is_filled ? SQLITE_TXN_WRITE : SQLITE_TXN_READ;
    if (sqlite3_txn_state(to, "main") < needed) return SQLITE_MISUSE;
    sqlcipherkit_trees *trees = sqlite3_malloc64(sizeof *trees);
    if (trees == NULL) return SQLITE_NOMEM;
    memset(trees, 0, sizeof *trees);
    int rc = sqlcipherkit_open_tree(&trees->source, from, source, root, is_table, 0);
    if (rc == SQLITE_OK) rc = sqlcipherkit_open_tree(&trees->target, to, target, to_root, is_table, is_filled);
    if (rc == SQLITE_OK) {
        *opened = trees;
    } else {
        sqlcipherkit_close_trees(trees);
    }
    return rc;
}

/* Goes to a tree's first record, or to its next one. */
static int sqlcipherkit_next_record(sqlcipherkit_tree *tree, int has_begun) {
    int rc = has_begun ? sqlite3BtreeNext(tree->cursor, 0) : sqlite3BtreeFirst(tree->cursor, &tree->is_at_end);
    if (rc == SQLITE_DONE) {
        tree->is_at_end = 1;
        rc = SQLITE_OK;
    }
    return rc;
}

int sqlcipherkit_copy_records(sqlcipherkit_trees *trees, int count) {
    sqlcipherkit_tree *source = &trees->source, *target = &trees->target;
    for (; count > 0; count--) {
        int is_empty = 0;
        int rc = sqlcipherkit_next_record(source, trees->has_begun);
        if (rc != SQLITE_OK) return rc;
        if (source->is_at_end) return SQLITE_DONE;
        BtreePayload record = {0};
        if (source->keys == NULL) {
            record.nKey = sqlite3BtreeIntegerKey(source->cursor);
            if (trees->has_begun && record.nKey <= trees->last_id) return SQLITE_CORRUPT;
            trees->last_id = record.nKey;
        }
        trees->has_begun = 1;
        rc = sqlite3BtreeLast(target->cursor, &is_empty);
        if (rc == SQLITE_OK) rc = sqlite3BtreeTransferRow(target->cursor, source->cursor, record.nKey);
        /* After the last one. */
        if (rc == SQLITE_OK) rc = sqlite3BtreeInsert(target->cursor, &record, BTREE_PREFORMAT, -1);
        if (rc != SQLITE_OK) {
            /* Only pages that are read can be damaged, and the new ones are read for nothing. */
            trees->has_failed_at_target = rc != SQLITE_CORRUPT && rc != SQLITE_NOTADB;
            return rc;
        }
    }
    return SQLITE_ROW;
}

int sqlcipherkit_failed_at_target(const sqlcipherkit_trees *trees) { return trees->has_failed_at_target; }

/* Sets `are_same` to 1 if two records have the same bytes, else to 0. Returns an SQLite result code. */
static int sqlcipherkit_are_same(BtCursor *a, BtCursor *b, int *are_same) {
    unsigned char bytes[2][1024];
    const u32 size = sqlite3BtreePayloadSize(a);
    *are_same = size == sqlite3BtreePayloadSize(b);
    int rc = SQLITE_OK;
    for (u32 place = 0; rc == SQLITE_OK && *are_same && place < size;) {
        const u32 part = size - place < sizeof *bytes ? size - place : (u32)sizeof *bytes;
        rc = sqlite3BtreePayload(a, place, part, bytes[0]);
        if (rc == SQLITE_OK) rc = sqlite3BtreePayload(b, place, part, bytes[1]);
        *are_same = memcmp(bytes[0], bytes[1], part) == 0;
        place += part;
    }
    return rc;
}

int sqlcipherkit_compare_records(sqlcipherkit_trees *trees, int count) {
    sqlcipherkit_tree *source = &trees->source, *target = &trees->target;
    for (; count > 0; count--) {
        int are_same = 0;
        int rc = sqlcipherkit_next_record(source, trees->has_begun);
        if (rc == SQLITE_OK) {
            rc = sqlcipherkit_next_record(target, trees->has_begun);
            trees->has_failed_at_target = rc != SQLITE_OK;
        }
        if (rc != SQLITE_OK) return rc;
        trees->has_begun = 1;
        if (source->is_at_end != target->is_at_end) return SQLITE_MISMATCH;
        if (source->is_at_end) return SQLITE_DONE;
        if (source->keys == NULL && sqlite3BtreeIntegerKey(source->cursor) != sqlite3BtreeIntegerKey(target->cursor)) {
            return SQLITE_MISMATCH;
        }
        rc = sqlcipherkit_are_same(source->cursor, target->cursor, &are_same);
        if (rc != SQLITE_OK) return rc;
        if (!are_same) return SQLITE_MISMATCH;
    }
    return SQLITE_ROW;
}

static void sqlcipherkit_close_tree(sqlcipherkit_tree *tree) {
    if (tree->cursor != NULL) sqlite3BtreeCloseCursor(tree->cursor);
    sqlite3_free(tree->cursor);
    sqlite3KeyInfoUnref(tree->keys);
}

void sqlcipherkit_close_trees(sqlcipherkit_trees *trees) {
    if (trees == NULL) return;
    sqlcipherkit_close_tree(&trees->source);
    sqlcipherkit_close_tree(&trees->target);
    sqlite3_free(trees);
}
