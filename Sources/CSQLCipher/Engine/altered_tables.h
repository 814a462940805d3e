/* The table that an index or a trigger belongs to, while ALTER TABLE examines and rewrites its text. engine.c includes this after
 * the amalgamation; nothing else does.
 *
 * SQLite looks for the table in temp first, as if the statement were new. If a temporary table has the same name, the index and the
 * trigger seem to belong to that one: a column that they use can be dropped, and is not renamed in them. The index then no longer
 * fits its table (https://sqlite.org/lang_altertable.html). Theirs is a table of their own schema, as when the schema is read.
 */
#ifndef SQLCIPHERKIT_PLAIN_SYMBOLS
/* Returns whether a statement must not change a table. slot_mark.h defines the function. */
static int sqlcipherkit_refuses_table(Parse *, const Table *);
#else
#define sqlcipherkit_refuses_table(parse, table) 0
#endif

SQLITE_PRIVATE Table *sqlite3SrcListLookup(Parse *parse, SrcList *list) {
    SrcItem *item = list->a;
    const int schema = parse->db->init.iDb;
    const int is_anywhere = !item->fg.isSubquery && !item->fg.fixedSchema && item->u4.zDatabase == NULL;
    if (parse->eParseMode >= PARSE_MODE_RENAME && schema != 1 && is_anywhere) {
        item->u4.pSchema = parse->db->aDb[schema].pSchema;
        item->fg.fixedSchema = 1;
    }
    Table *table = upstream_sqlite3SrcListLookup(parse, list);
    return table != NULL && sqlcipherkit_refuses_table(parse, table) ? NULL : table;
}
