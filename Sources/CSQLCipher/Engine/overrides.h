/* Replaces functions that SQLCipher defines, without changing the pinned file. engine.c includes this before the amalgamation, and
 * overrides_end.h after it, which stops the build if one of these no longer replaces anything.
 *
 * A macro with parameters applies where a parenthesis follows the name: at the definition, which thus gets another name. Where the
 * name is used alone, as a function pointer, it means the package's own function, declared here.
 */

/* Weak, so that the definition in System/secure.c takes the place of SQLCipher's own. That one writes byte by byte through a
 * volatile pointer, which takes a twelfth of the time of opening a database with a raw key. */
__attribute__((weak)) void *sqlcipher_memset(void *, unsigned char, unsigned long long);

/* SQLCipher frees its keys and its provider when the process exits, while other threads may still be writing: they would
 * crash, or encrypt with a freed key. Ours do nothing, as the memory is freed with the process. With Apple's address sanitizer the
 * second is called instead of registered; the call's empty parenthesis distinguishes it from the definition. */
static void sqlcipher_atexit(void);
static void sqlcipher_fini(void);
#define sqlcipher_atexit(none) sqlcipherkit_sqlcipher_atexit(none)
#define sqlcipher_fini(none) SQLCIPHERKIT_FINI_##none
#define SQLCIPHERKIT_FINI_void sqlcipherkit_sqlcipher_fini(void)
#define SQLCIPHERKIT_FINI_ sqlcipher_fini()

/* Reads a page from the file or the log and decrypts it: reads.h has ours, which limits an error to the page that has it. The
 * definition's parameter begins with its type, and the calls' argument with a variable, which distinguishes the two. */
struct PgHdr;
static int sqlcipherkit_read_page(struct PgHdr *);
#define readDbPage(page) SQLCIPHERKIT_READ_##page)
#define SQLCIPHERKIT_READ_PgHdr sqlcipherkit_sqlite_read_page(PgHdr
#define SQLCIPHERKIT_READ_pPg sqlcipherkit_read_page(pPg

/* The pager calls this for a page in use whose bytes were rolled back: reads.h has ours, which does not parse ciphertext. */
static void pageReinit(struct PgHdr *);
#define pageReinit(page) sqlcipherkit_sqlite_reinit_page(page)

#if defined(__unix__) || defined(__APPLE__)
/* Reads from a file: reads.h has ours, which does not report a failing disk as damage. */
struct sqlite3_file;
static int unixRead(struct sqlite3_file *, void *, int, long long);
#define unixRead(file, bytes, count, offset) sqlcipherkit_sqlite_unix_read(file, bytes, count, offset)

/* Lowers or releases a lock: reads.h has ours, for which a lock that cannot be lowered is no error. */
static int unixUnlock(struct sqlite3_file *, int);
#define unixUnlock(file, level) sqlcipherkit_sqlite_unix_unlock(file, level)

/* Removes a file: reads.h has ours, for which a folder that cannot be flushed is no error. */
struct sqlite3_vfs;
static int unixDelete(struct sqlite3_vfs *, const char *, int);
#define unixDelete(vfs, path, sync) sqlcipherkit_sqlite_unix_delete(vfs, path, sync)
#endif

/* Reads the salt, and takes a random one if that fails in any way: reads.h has ours, which does that only for a new file. */
static int sqlcipherkit_read_salt(void *);
#define sqlcipher_codec_ctx_init_kdf_salt(codec) SQLCIPHERKIT_SALT_##codec)
#define SQLCIPHERKIT_SALT_codec_ctx sqlcipherkit_sqlcipher_read_salt(codec_ctx
#define SQLCIPHERKIT_SALT_ctx sqlcipherkit_read_salt(ctx

/* The function that the pager calls for each page: codec.h has ours. */
static void *sqlite3Codec(void *, void *, unsigned int, int);
#define sqlite3Codec(codec, data, number, mode) sqlcipherkit_sqlcipher_codec(codec, data, number, mode)

/* SQLCipher's start and stop: start.h has ours, which can fail and be tried again. The start's argument distinguishes the call from
 * the definition, as the empty parenthesis does for the stop. */
static int sqlcipherkit_start_cipher(const char *);
static void sqlcipherkit_stop_cipher(void);
#define sqlcipher_extra_init(argument) SQLCIPHERKIT_START_##argument)
#define SQLCIPHERKIT_START_const sqlcipherkit_sqlcipher_start(const
#define SQLCIPHERKIT_START_0 sqlcipherkit_start_cipher(0
#define sqlcipher_extra_shutdown(none) SQLCIPHERKIT_STOP_##none
#define SQLCIPHERKIT_STOP_void sqlcipherkit_sqlcipher_stop(void)
#define SQLCIPHERKIT_STOP_ sqlcipherkit_stop_cipher()

/* Changes the key: rekey.h has ours, after whose failures the database still has its old key. */
struct sqlite3;
static int sqlcipherkit_change_key(struct sqlite3 *, const char *, const void *, int);
#define sqlite3_rekey_v2(first, ...) SQLCIPHERKIT_REKEY_##first, __VA_ARGS__)
#define SQLCIPHERKIT_REKEY_sqlite3 sqlcipherkit_sqlcipher_rekey(sqlite3
#define SQLCIPHERKIT_REKEY_db sqlcipherkit_change_key(db

/* Runs SQLCipher's pragmas: codec.h has ours, which knows what was forgiven. */
struct Parse;
static int sqlcipherkit_codec_pragma(struct sqlite3 *, int, struct Parse *, const char *, const char *);
#define sqlcipher_codec_pragma(first, ...) SQLCIPHERKIT_CODEC_PRAGMA_##first, __VA_ARGS__)
#define SQLCIPHERKIT_CODEC_PRAGMA_sqlite3 sqlcipherkit_sqlcipher_codec_pragma(sqlite3
#define SQLCIPHERKIT_CODEC_PRAGMA_db sqlcipherkit_codec_pragma(db

/* How integrity_check examines a full-text index: full_text.h says why it is replaced. */
struct sqlite3_vtab;
static int fts5IntegrityMethod(struct sqlite3_vtab *, const char *, const char *, int, char **);
#define fts5IntegrityMethod(table, schema, name, quick, message) \
    sqlcipherkit_sqlite_fts5_integrity(table, schema, name, quick, message)

/* How a full-text table is dropped: full_text.h has ours, which drops what keeps it in step with its content. */
static int fts5DestroyMethod(struct sqlite3_vtab *);
#define fts5DestroyMethod(table) sqlcipherkit_sqlite_fts5_destroy(table)

/* What makes a snippet: snippets.h has ours, which takes no longer for many occurrences. */
struct Fts5ExtensionApi;
struct Fts5Context;
struct sqlite3_context;
struct sqlite3_value;
static void fts5SnippetFunction(
    const struct Fts5ExtensionApi *, struct Fts5Context *, struct sqlite3_context *, int, struct sqlite3_value **);
#define fts5SnippetFunction(api, context, result, count, values) sqlcipherkit_sqlite_snippet(api, context, result, count, values)

/* The last step of what gives a connection FTS5: words.h adds a tokenizer. */
struct sqlite3;
struct Fts5Global;
static int sqlcipherkit_start_full_text(struct Fts5Global *, struct sqlite3 *);
#define sqlite3Fts5VocabInit(first, ...) SQLCIPHERKIT_VOCABULARY_##first, __VA_ARGS__)
#define SQLCIPHERKIT_VOCABULARY_Fts5Global sqlcipherkit_sqlite_start_vocabulary(Fts5Global
#define SQLCIPHERKIT_VOCABULARY_pGlobal sqlcipherkit_start_full_text(pGlobal

/* The program that deletes a row: replaced_rows.h fires the triggers of full-text indexes for those that REPLACE deletes. */
struct Parse;
struct Table;
struct Trigger;
static void sqlcipherkit_delete_row(struct Parse *, struct Table *, struct Trigger *, int, int, int, short, unsigned char,
                                    unsigned char, unsigned char, int);
#define sqlite3GenerateRowDelete(first, ...) SQLCIPHERKIT_DELETE_ROW_##first, __VA_ARGS__)
#define SQLCIPHERKIT_DELETE_ROW_Parse sqlcipherkit_sqlite_delete_row(Parse
#define SQLCIPHERKIT_DELETE_ROW_pParse sqlcipherkit_delete_row(pParse

/* Finds the table of an INSERT, UPDATE, DELETE, trigger or index: altered_tables.h has ours, which finds the right one for
 * ALTER. */
struct SrcList;
static struct Table *sqlcipherkit_look_up(struct Parse *, struct SrcList *);
#define sqlite3SrcListLookup(first, ...) SQLCIPHERKIT_LOOK_UP_##first, __VA_ARGS__)
#define SQLCIPHERKIT_LOOK_UP_Parse sqlcipherkit_sqlite_look_up(Parse
#define SQLCIPHERKIT_LOOK_UP_pParse sqlcipherkit_look_up(pParse

/* Parses the name of every database: opening.h has ours, which refuses the shared cache. */
struct sqlite3_vfs;
static int sqlcipherkit_parse_uri(const char *, const char *, unsigned int *, struct sqlite3_vfs **, char **, char **);
#define sqlite3ParseUri(first, ...) SQLCIPHERKIT_URI_##first, __VA_ARGS__)
#define SQLCIPHERKIT_URI_const sqlcipherkit_sqlite_parse_uri(const
#define SQLCIPHERKIT_URI_zVfs sqlcipherkit_parse_uri(zVfs
#define SQLCIPHERKIT_URI_db sqlcipherkit_parse_uri(db

#ifndef SQLCIPHERKIT_PLAIN_SYMBOLS
/* The rest is for the Swift layer's connections. */

/* Whether a temporary database is kept in memory, which it always is: vacuum.h has ours, with one exception. */
struct sqlite3;
static int sqlcipherkit_temporary_is_in_memory(const struct sqlite3 *);
#define sqlite3TempInMemory(db) SQLCIPHERKIT_TEMPORARY_##db)
#define SQLCIPHERKIT_TEMPORARY_const sqlcipherkit_sqlite_temporary_is_in_memory(const
#define SQLCIPHERKIT_TEMPORARY_db sqlcipherkit_temporary_is_in_memory(db
#define SQLCIPHERKIT_TEMPORARY_p sqlcipherkit_temporary_is_in_memory(p

/* Runs a VACUUM: vacuum.h has ours, which notes what is vacuumed. Only the second argument distinguishes the call from the
 * definition, so it comes first here. */
struct sqlite3_value;
static int sqlcipherkit_vacuum(struct sqlite3 *, char **, int, struct sqlite3_value *);
#define sqlite3RunVacuum(error, connection, ...) SQLCIPHERKIT_VACUUM_##connection, error, __VA_ARGS__)
#define SQLCIPHERKIT_VACUUM_sqlite3 sqlcipherkit_sqlite_vacuum(sqlite3
#define SQLCIPHERKIT_VACUUM_db sqlcipherkit_vacuum(db

/* ATTACH and VACUUM INTO call this when they run: ours refuses a file that only SQL names. */
struct sqlite3_context;
struct sqlite3_value;
static void attachFunc(struct sqlite3_context *, int, struct sqlite3_value **);
#define attachFunc(context, count, values) sqlcipherkit_sqlite_attach_function(context, count, values)

/* Where SQL would reach a key or a setting, guard.h and guarded_pragmas.h come first. These functions are called by name, so the
 * first argument must distinguish a call from a definition and a declaration, which begin with its type. The originals get other
 * names. */
struct sqlite3;
struct Parse;
struct Token;
struct Expr;
static int sqlcipherkit_attach_codec(struct sqlite3 *, int, const void *, int);
static void sqlcipherkit_pragma(struct Parse *, struct Token *, struct Token *, struct Token *, int);
static void sqlcipherkit_attach_statement(struct Parse *, struct Expr *, struct Expr *, struct Expr *);
static void sqlcipherkit_finish(struct Parse *);
#define sqlcipherCodecAttach(first, ...) SQLCIPHERKIT_CODEC_ATTACH_##first, __VA_ARGS__)
#define SQLCIPHERKIT_CODEC_ATTACH_sqlite3 sqlcipherkit_sqlcipher_codec_attach(sqlite3
#define SQLCIPHERKIT_CODEC_ATTACH_db sqlcipherkit_attach_codec(db
#define sqlite3Pragma(first, ...) SQLCIPHERKIT_PRAGMA_##first, __VA_ARGS__)
#define SQLCIPHERKIT_PRAGMA_Parse sqlcipherkit_sqlite_pragma(Parse
#define SQLCIPHERKIT_PRAGMA_pParse sqlcipherkit_pragma(pParse
#define sqlite3Attach(first, ...) SQLCIPHERKIT_ATTACH_##first, __VA_ARGS__)
#define SQLCIPHERKIT_ATTACH_Parse sqlcipherkit_sqlite_attach(Parse
#define SQLCIPHERKIT_ATTACH_pParse sqlcipherkit_attach_statement(pParse
#define sqlite3FinishCoding(first) SQLCIPHERKIT_FINISH_##first)
#define SQLCIPHERKIT_FINISH_Parse sqlcipherkit_sqlite_finish(Parse
#define SQLCIPHERKIT_FINISH_pParse sqlcipherkit_finish(pParse

/* Where the names of a query are resolved: access.h asks the authorizer about accesses that SQLite does not ask about. */
struct Select;
static void sqlcipherkit_select_is_resolved(struct Parse *, struct Select *);
#define sqlite3SelectAddTypeInfo(first, ...) SQLCIPHERKIT_SELECT_##first, __VA_ARGS__)
#define SQLCIPHERKIT_SELECT_Parse sqlcipherkit_sqlite_select_types(Parse
#define SQLCIPHERKIT_SELECT_pParse sqlcipherkit_select_is_resolved(pParse

/* Where SQL would change or drop a table, or create something under a name: slot_mark.h keeps SQL away from the mark of the key
 * slots. */
static int sqlcipherkit_may_change(struct Parse *, int, const char *, const char *, const char *);
static int sqlcipherkit_may_be_named(struct Parse *, const char *, const char *, const char *);
#define sqlite3AuthCheck(first, ...) SQLCIPHERKIT_AUTH_##first, __VA_ARGS__)
#define SQLCIPHERKIT_AUTH_Parse sqlcipherkit_sqlite_auth_check(Parse
#define SQLCIPHERKIT_AUTH_pParse sqlcipherkit_may_change(pParse
#define sqlite3CheckObjectName(first, ...) SQLCIPHERKIT_NAME_##first, __VA_ARGS__)
#define SQLCIPHERKIT_NAME_Parse sqlcipherkit_sqlite_check_name(Parse
#define SQLCIPHERKIT_NAME_pParse sqlcipherkit_may_be_named(pParse
#endif
