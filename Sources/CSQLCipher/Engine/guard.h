/* Guarded connections: the Swift layer's. Only engine.c includes this, after the amalgamation.
 *
 * The functions of this file and of guarded_pragmas.h stand where the engine would act on SQL (Vendor/patches), so it does not
 * matter where the SQL comes from. */
#include "../include/guard.h"
#include "../include/wipe.h"

static const char sqlcipherkit_file_refusal[] = "ATTACH of a file is refused: use attach(_:as:key:)";

/* Returns whether the location given to ATTACH names a file. A URI always does. */
static int sqlcipherkit_is_file(const char *location) {
    return location != NULL && *location != 0 && strcmp(location, ":memory:") != 0;
}

int sqlcipherkit_check_location(const char *location) {
    if (strncmp(location, "file:", 5) != 0) return SQLITE_OK;
    int rc = sqlcipherkit_start();
    if (rc != SQLITE_OK) return rc;
    /* Allows every mode that a URI can ask for. */
    unsigned int flags = SQLITE_OPEN_URI | SQLITE_OPEN_READONLY | SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY;
    sqlite3_vfs *vfs = NULL;
    char *name = NULL, *message = NULL;
    /* Opening reports anything else that is wrong with the URI. */
    rc = upstream_sqlite3ParseUri(NULL, location, &flags, &vfs, &name, &message);
    int has_key = rc == SQLITE_OK && (sqlite3_uri_parameter(name, "key") != NULL || sqlite3_uri_parameter(name, "hexkey") != NULL ||
                                      sqlite3_uri_parameter(name, "textkey") != NULL);
    sqlite3_free(message);
    sqlite3_free_filename(name);
    return rc == SQLITE_NOMEM ? rc : has_key ? SQLITE_AUTH : SQLITE_OK;
}

void sqlcipherkit_set_one_of_many(sqlite3 *db, int is_one_of_many) {
    sqlcipherkit_guard *guard = sqlcipherkit_guard_of(db);
    if (guard != NULL) guard->is_one_of_many = is_one_of_many;
}

/* Returns whether a statement that is being compiled must not make the connection differ from the others. Reading a schema, and the
 * copy that VACUUM attaches, make no difference. */
static int sqlcipherkit_must_be_like_others(sqlite3 *db) {
    const sqlcipherkit_guard *guard = sqlcipherkit_guard_of(db);
    return guard != NULL && guard->is_one_of_many && guard->granted == NULL && !db->init.busy &&
           (db->mDbFlags & DBFLAG_Vacuum) == 0;
}

static int sqlcipherkit_refuse_difference(Parse *parse, const char *message) {
    sqlite3ErrorMsg(parse, "%s", message);
    parse->rc = SQLITE_MISUSE;
    return SQLITE_DENY;
}

/* Refuses ATTACH and DETACH where the authorizer would be asked about them. */
static int sqlcipherkit_ask_attaching(Parse *parse, int code) {
    if (code != SQLITE_ATTACH && code != SQLITE_DETACH) return SQLITE_OK;
    if (!sqlcipherkit_must_be_like_others(parse->db)) return SQLITE_OK;
    if (sqlcipherkit_guard_of(parse->db)->is_one_of_many == SQLCIPHERKIT_ATTACHES_FOR_ALL) return SQLITE_OK;
    return sqlcipherkit_refuse_difference(
        parse, code == SQLITE_ATTACH ? "ATTACH would change one connection of the pool only: use attach(_:as:key:) of the pool"
                                     : "DETACH would change one connection of the pool only: use detach() of the pool's schema");
}

/* Refuses statements that create or alter something temporary. However its name is written, such a statement reads only the
 * temporary schema again. ALTER of another schema's table reads both. */
static void sqlcipherkit_ask_temporary(Parse *parse) {
    if (parse->nested || parse->nErr > 0 || parse->pVdbe == NULL || parse->explain) return;
    if (parse->pVdbe->readOnly || !sqlcipherkit_must_be_like_others(parse->db)) return;
    int is_temporary = 0;
    for (int i = 0; i < parse->pVdbe->nOp; i++) {
        const VdbeOp *operation = &parse->pVdbe->aOp[i];
        if (operation->opcode != OP_ParseSchema) continue;
        if (operation->p1 != 1) return;
        is_temporary = 1;
    }
    if (!is_temporary) return;
    sqlcipherkit_refuse_difference(
        parse, "TEMP would change one connection of the pool only: create it in DatabaseConfiguration.prepare");
}

static void sqlcipherkit_free_guard(void *context) {
    sqlcipherkit_guard *guard = context;
    for (sqlcipherkit_recorder *recorder = guard->recorders, *next; recorder != NULL; recorder = next) {
        next = recorder->next;
        sqlcipherkit_free_recorder(recorder);
    }
    sqlite3_free(guard);
}

int sqlcipherkit_open(const char *name, sqlite3 **db, int flags) {
    *db = NULL;
    int rc = sqlcipherkit_start();
    if (rc == SQLITE_OK) rc = sqlcipherkit_check_location(name);
    if (rc == SQLITE_OK) rc = sqlite3_open_v2(name, db, flags, NULL);
    if (rc != SQLITE_OK) return rc;
    sqlcipherkit_guard *guard = sqlite3_malloc(sizeof *guard);
    if (guard == NULL) return SQLITE_NOMEM;
    memset(guard, 0, sizeof *guard);
    return sqlite3_set_clientdata(*db, sqlcipherkit_guard_name, guard, sqlcipherkit_free_guard);
}

int sqlcipherkit_key(sqlite3 *db, const char *schema, const void *key, int count, const sqlcipherkit_cipher_settings *cipher) {
    sqlcipherkit_guard *guard = sqlcipherkit_guard_of(db);
    if (guard == NULL) return SQLITE_MISUSE;
    guard->granted = cipher;
    int rc = sqlite3_key_v2(db, schema, key, count);
    guard->granted = NULL;
    sqlcipherkit_wipe_traces();
    return rc;
}

int sqlcipherkit_attach(sqlite3 *db, const char *location, const char *name, const void *key, int count,
                        const sqlcipherkit_cipher_settings *cipher) {
    static const sqlcipherkit_cipher_settings none = {0};
    sqlcipherkit_guard *guard = sqlcipherkit_guard_of(db);
    if (guard == NULL) return SQLITE_MISUSE;
    int rc = sqlcipherkit_check_location(location);
    if (rc != SQLITE_OK) return rc;
    sqlite3_stmt *statement = NULL;
    guard->granted = cipher != NULL ? cipher : &none;
    rc = sqlite3_prepare_v2(db, "ATTACH DATABASE ? AS ? KEY ?", -1, &statement, NULL);
    if (rc == SQLITE_OK) rc = sqlite3_bind_text(statement, 1, location, -1, SQLITE_STATIC);
    if (rc == SQLITE_OK) rc = sqlite3_bind_text(statement, 2, name, -1, SQLITE_STATIC);
    /* Static: the engine makes no copy of the key for the parameter. Empty text means plaintext. */
    if (rc == SQLITE_OK && cipher != NULL) rc = sqlite3_bind_blob(statement, 3, key, count, SQLITE_STATIC);
    if (rc == SQLITE_OK && cipher == NULL) rc = sqlite3_bind_text(statement, 3, "", 0, SQLITE_STATIC);
    if (rc == SQLITE_OK) rc = sqlite3_step(statement);
    guard->granted = NULL;
    int finalized = sqlite3_finalize(statement);
    sqlcipherkit_wipe_traces();
    return rc == SQLITE_DONE ? SQLITE_OK : finalized != SQLITE_OK ? finalized : rc;
}

int sqlcipherkit_detach(sqlite3 *db, const char *name) {
    sqlite3_mutex_enter(db->mutex);
    /* A failed read of the schemas can leave a transaction open. */
    if (db->autoCommit && db->nVdbeActive == 0) sqlcipherkit_leave_transaction(db, name);
    Mem answer, argument;
    sqlite3_value *arguments[] = {&argument};
    sqlite3VdbeMemInit(&answer, db, MEM_Null);
    sqlite3VdbeMemInit(&argument, db, MEM_Null);
    int rc = sqlite3VdbeMemSetStr(&argument, name, -1, SQLITE_UTF8, SQLITE_STATIC);
    if (rc == SQLITE_OK) {
        sqlite3_context context = {.pOut = &answer, .enc = ENC(db)};
        detachFunc(&context, 1, arguments);
        rc = context.isError;
        if (rc == SQLITE_OK) sqlite3ExpirePreparedStatements(db, 0);
    }
    sqlite3VdbeMemRelease(&argument);
    sqlite3VdbeMemRelease(&answer);
    sqlite3_mutex_leave(db->mutex);
    return rc;
}

/* Sets each setting that a codec which has not been used yet does not have, by SQLCipher's pragmas, in an order in which each is
 * checked against those before it. Some of the pragmas ignore what they cannot set. */
static int sqlcipherkit_set_cipher(sqlite3 *db, int index, codec_ctx *codec, const sqlcipherkit_cipher_settings *to) {
    static const int sizes[] = {1, 256, 512};
    if ((unsigned)to->kdf_algorithm > 2 || (unsigned)to->hmac_algorithm > 2) return SQLITE_MISUSE;
    /* Another process-wide default, which only the key derivation reads. */
    if (hmac_salt_mask != HMAC_SALT_MASK) return SQLITE_MISUSE;
    sqlcipherkit_cipher_settings is = sqlcipherkit_settings_of(codec);
    const struct { const char *pragma, *format; int is_other, value; } settings[] = {
        {"cipher_page_size", "%d", is.page_size != to->page_size, to->page_size},
        {"kdf_iter", "%d", is.kdf_iterations != to->kdf_iterations, to->kdf_iterations},
        {"cipher_kdf_algorithm", "PBKDF2_HMAC_SHA%d", is.kdf_algorithm != to->kdf_algorithm, sizes[to->kdf_algorithm]},
        {"cipher_hmac_algorithm", "HMAC_SHA%d", is.hmac_algorithm != to->hmac_algorithm, sizes[to->hmac_algorithm]},
        {"cipher_use_hmac", "%d", is.uses_hmac != to->uses_hmac, to->uses_hmac},
        {"cipher_plaintext_header_size", "%d", is.plaintext_header_size != to->plaintext_header_size, to->plaintext_header_size},
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        char text[32];
        sqlite3_snprintf(sizeof text, text, settings[i].format, settings[i].value);
        if (settings[i].is_other) upstream_sqlcipher_codec_pragma(db, index, NULL, settings[i].pragma, text);
    }
    if (codec->error != SQLITE_OK) return codec->error;
    is = sqlcipherkit_settings_of(codec);
    is.uses_memory_security = to->uses_memory_security;
    if (memcmp(&is, to, sizeof is) != 0) return SQLITE_ERROR;
    if (to->uses_memory_security) sqlcipher_mem_security_on = 1;
    return SQLITE_OK;
}

/* Returns whether the key is the main database's own, which an ATTACH without KEY and a VACUUM give to the other database. */
static int sqlcipherkit_is_main_key(sqlite3 *db, const void *key, int count) {
    void *own = NULL;
    int size = 0;
    sqlcipherCodecGetKey(db, 0, &own, &size);
    int is_same = own != NULL && size == count && sqlcipher_memcmp(own, key, count) == 0;
    if (own != NULL) sqlcipher_free(own, size);
    return is_same;
}

/* Replaces sqlcipherCodecAttach, which gives a database its key. */
int sqlcipherCodecAttach(sqlite3 *db, int index, const void *key, int count) {
    sqlcipherkit_guard *guard = sqlcipherkit_guard_of(db);
    /* Without a key, SQLCipher's function fails and changes nothing. */
    if (guard == NULL || key == NULL || count <= 0) return upstream_sqlcipherCodecAttach(db, index, key, count);
    sqlcipherkit_cipher_settings cipher;
    if (guard->granted != NULL) {
        cipher = *guard->granted;
    } else if (index > 1 && sqlcipherkit_is_main_key(db, key, count)) {
        /* VACUUM's copy gets the settings of the database that is vacuumed, and no key if that one has none. */
        const int is_copy = sqlcipherkit_is_copy(db, index);
        const codec_ctx *like = is_copy ? sqlcipherkit_vacuumed.codec : sqlcipherkit_codec_of(db->aDb[0].pBt);
        if (like == NULL) return is_copy ? SQLITE_OK : SQLITE_AUTH;
        cipher = sqlcipherkit_settings_of(like);
    } else {
        return SQLITE_AUTH;
    }
    /* SQLCipher would have the next VACUUM of any plaintext database give it this one's page size. */
    const int next_page_size = db->nextPagesize;
    int rc = upstream_sqlcipherCodecAttach(db, index, key, count);
    codec_ctx *codec = rc == SQLITE_OK ? sqlcipherkit_codec_of(db->aDb[index].pBt) : NULL;
    if (codec != NULL) rc = sqlcipherkit_set_cipher(db, index, codec, &cipher);
    db->nextPagesize = next_page_size;
    return rc;
}

/* Replaces SQLite's function, which opens the file that an ATTACH or a VACUUM INTO names: SQL alone reaches no file. */
static void attachFunc(sqlite3_context *context, int count, sqlite3_value **values) {
    sqlite3 *const db = sqlite3_context_db_handle(context);
    const sqlcipherkit_guard *guard = sqlcipherkit_guard_of(db);
    if (guard != NULL && guard->granted == NULL && sqlcipherkit_is_file((const char *)sqlite3_value_text(values[0]))) {
        sqlite3_result_error(context, sqlcipherkit_file_refusal, -1);
        sqlite3_result_error_code(context, SQLITE_AUTH);
        return;
    }
    upstream_attachFunc(context, count, values);
    /* SQLite reports the default of PRAGMA synchronous for the new database, but gives its pager FULL. */
    const Db *const added = &db->aDb[db->nDb - 1];
    if (added->pBt != NULL) sqlite3BtreeSetPagerFlags(added->pBt, added->safety_level | (db->flags & PAGER_FLAGS_MASK));
    /* A BEGIN IMMEDIATE that was compiled before would not lock the new database. Statements that are running go on. */
    if (guard != NULL) sqlite3ExpirePreparedStatements(db, 1);
}
