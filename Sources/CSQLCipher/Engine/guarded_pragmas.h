/* Pragmas and ATTACH on guarded connections. Only engine.c includes this, after guard.h.
 *
 * SQLite runs most pragmas that set something while it compiles them. Here they are compiled when they are stepped: until then the
 * statement is an empty program that is marked as out of date, so that SQLite compiles it again at its first step. */

/* The messages for refused statements, by a LIKE pattern for the pragma's name. The first line that matches counts. */
static const struct { const char *pattern, *message; } sqlcipherkit_refusals[] = {
    {"%rekey%", "PRAGMA rekey is refused: use changeKey(to:)"},
    {"key", "PRAGMA key is refused: give the key when opening, or to attach(_:as:key:)"},
    {"hexkey", "PRAGMA hexkey is refused: give the key when opening, or to attach(_:as:key:)"},
    {"textkey", "PRAGMA textkey is refused: give the key when opening, or to attach(_:as:key:)"},
    {"cipher_migrate", "PRAGMA cipher_migrate is refused: use DatabaseConverter.migrate"},
    {"cipher_log%", "PRAGMA cipher_log is refused: use SQLCipherEngine.setLogger"},
    {"cipher_profile", "PRAGMA cipher_profile is refused: use addTraceHook"},
    {"cipher_memory_security", "PRAGMA cipher_memory_security is refused: use CipherConfiguration"},
    {"cipher_add_random", "PRAGMA cipher_add_random is refused: random bytes are the system's"},
    {"cipher_default%", "PRAGMA cipher_default is refused: give each database its CipherConfiguration"},
    {"page_size", "PRAGMA page_size is refused for an encrypted database: use CipherConfiguration.pageSize"},
    {"%cipher%", "PRAGMA for a cipher setting is refused: use CipherConfiguration, or DatabaseConverter.migrate"},
    {"%kdf%", "PRAGMA kdf_iter is refused: use CipherConfiguration.kdfIterations"},
};

/* SQLCipher's pragmas that only return something. A pragma that is neither listed here nor one of SQLite's own is not run. */
static const char *const sqlcipherkit_readable[] = {
    "cipher", "cipher_default_hmac_algorithm", "cipher_default_kdf_algorithm", "cipher_default_kdf_iter",
    "cipher_default_page_size", "cipher_default_plaintext_header_size", "cipher_default_settings", "cipher_default_use_hmac",
    "cipher_fips_status", "cipher_hmac_algorithm", "cipher_hmac_pgno", "cipher_hmac_salt_mask", "cipher_integrity_check",
    "cipher_kdf_algorithm", "cipher_log_level", "cipher_log_source", "cipher_memory_security", "cipher_page_size",
    "cipher_plaintext_header_size", "cipher_provider", "cipher_provider_version", "cipher_salt", "cipher_settings",
    "cipher_status", "cipher_store_pass", "cipher_use_hmac", "cipher_version", "fast_kdf_iter", "kdf_iter",
};

static int sqlcipherkit_is_readable(const char *name) {
    for (size_t i = 0; i < sizeof sqlcipherkit_readable / sizeof *sqlcipherkit_readable; i++) {
        if (sqlite3_stricmp(name, sqlcipherkit_readable[i]) == 0) return 1;
    }
    return 0;
}

int sqlcipherkit_is_pragma(const char *name) { return pragmaLocate(name) != NULL || sqlcipherkit_is_readable(name); }

static void sqlcipherkit_refuse(Parse *parse, const char *message) {
    sqlite3ErrorMsg(parse, "%s", message);
    parse->rc = SQLITE_AUTH;
}

/* The compilation whose statement will be compiled again at its first step. */
static _Thread_local Parse *sqlcipherkit_deferred = NULL;

/* Compiles an empty program in place of a pragma, with the columns that SQLite gives the pragma. */
static void sqlcipherkit_defer(Parse *parse, const PragmaName *known, const char *name, const char *value, const char *schema) {
    Vdbe *program = sqlite3GetVdbe(parse);
    if (program == NULL || upstream_sqlite3AuthCheck(parse, SQLITE_PRAGMA, name, value, schema) != SQLITE_OK ||
        known == NULL) return;
    int hidden = known->mPragFlg & (value == NULL ? PragFlg_NoColumns : PragFlg_NoColumns | PragFlg_NoColumns1);
    if (!hidden) setPragmaResultColumnNames(program, known);
    /* EXPLAIN shows the empty program, never the pragma's own: compiling that would run it. */
    if (!parse->explain) sqlcipherkit_deferred = parse;
}

/* Replaces sqlite3Pragma. */
SQLITE_PRIVATE void sqlite3Pragma(Parse *parse, Token *first, Token *second, Token *value, int minus) {
    sqlite3 *db = parse->db;
    if (sqlcipherkit_guard_of(db) == NULL) {
        upstream_sqlite3Pragma(parse, first, second, value, minus);
        return;
    }
    Token *id;
    int index = sqlite3TwoPartName(parse, first, second, &id);
    char *name = index < 0 ? NULL : sqlite3NameFromToken(db, id);
    if (name == NULL) return;
    const PragmaName *known = pragmaLocate(name);
    /* Each of SQLite's own pragmas that take a key has a name that ends so. */
    int is_refused = known == NULL                               ? value != NULL || !sqlcipherkit_is_readable(name)
                     : sqlite3_stricmp(name, "page_size") == 0 ? value != NULL && sqlcipherkit_codec_of(db->aDb[index].pBt) != NULL
                                                               : sqlite3_strlike("%key", name, 0) == 0;
    const char *message = NULL;
    for (size_t i = 0; is_refused && message == NULL && i < sizeof sqlcipherkit_refusals / sizeof *sqlcipherkit_refusals; i++) {
        if (sqlite3_strlike(sqlcipherkit_refusals[i].pattern, name, 0) == 0) message = sqlcipherkit_refusals[i].message;
    }
    /* SQLite itself knows which pragmas are queries. But a pragma that names the temporary database opens it. */
    int query = value != NULL ? PragFlg_Result1 : PragFlg_Result0;
    int is_query = known == NULL || (index != 1 && (known->mPragFlg & query) != 0);
    int is_stepped = parse->pReprepare != NULL && !parse->explain;
    /* Exclusive locking mode would lock the pool's other connections out. */
    int locks = value != NULL && sqlite3_stricmp(name, "locking_mode") == 0;
    if (message != NULL) {
        sqlcipherkit_refuse(parse, message);
    } else if (locks && sqlcipherkit_must_be_like_others(db)) {
        sqlcipherkit_refuse_difference(
            parse, "PRAGMA locking_mode is refused: one connection of the pool would lock the others out");
    } else if (!is_refused && (is_stepped || is_query)) {
        upstream_sqlite3Pragma(parse, first, second, value, minus);
    } else {
        char *text = minus ? sqlite3MPrintf(db, "-%T", value) : sqlite3NameFromToken(db, value);
        sqlcipherkit_defer(parse, known, name, text, second->n > 0 ? db->aDb[index].zDbSName : NULL);
        sqlite3DbFree(db, text);
    }
    sqlite3DbFree(db, name);
}

/* Replaces sqlite3FinishCoding, which ends the compilation of each statement. */
SQLITE_PRIVATE void sqlite3FinishCoding(Parse *parse) {
    int is_deferred = sqlcipherkit_deferred == parse;
    sqlcipherkit_deferred = NULL;
    upstream_sqlite3FinishCoding(parse);
    if (is_deferred && parse->nErr == 0 && parse->pVdbe != NULL) {
        parse->pVdbe->expired = 1;
        /* The pragma may write when it runs. */
        parse->pVdbe->readOnly = 0;
    }
    /* Lets the statement's changes be undone if the caller's own code fails on one of its rows. */
    if (parse->nErr == 0 && parse->pVdbe != NULL && parse->bReturning && sqlcipherkit_guard_of(parse->db) != NULL) {
        parse->pVdbe->usesStmtJournal = 1;
    }
    sqlcipherkit_ask_temporary(parse);
    sqlcipherkit_program_is_complete(parse);
}

/* Replaces sqlite3Attach, which compiles an ATTACH. */
SQLITE_PRIVATE void sqlite3Attach(Parse *parse, Expr *location, Expr *name, Expr *key) {
    sqlcipherkit_guard *guard = sqlcipherkit_guard_of(parse->db);
    const char *message = NULL;
    if (guard != NULL && guard->granted == NULL) {
        int is_literal = location != NULL && location->op == TK_STRING && !ExprHasProperty(location, EP_IntValue);
        if (key != NULL) {
            message = "ATTACH with a KEY is refused: use attach(_:as:key:)";
        } else if (is_literal && sqlcipherkit_is_file(location->u.zToken)) {
            message = sqlcipherkit_file_refusal;
        }
    }
    if (message == NULL) {
        upstream_sqlite3Attach(parse, location, name, key);
    } else {
        sqlcipherkit_refuse(parse, message);
        sqlite3ExprDelete(parse->db, location);
        sqlite3ExprDelete(parse->db, name);
        sqlite3ExprDelete(parse->db, key);
    }
}
