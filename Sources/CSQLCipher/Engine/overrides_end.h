/* The end of overrides.h: engine.c includes this after the amalgamation.
 *
 * If upstream renames a function, its override would silently stop working. The lines here turn that into an error: a definition
 * that was not renamed is an undeclared name, and a replacement that nothing refers to is an unused function.
 */
#undef sqlcipher_atexit
#undef sqlcipher_fini
#undef SQLCIPHERKIT_FINI_void
#undef SQLCIPHERKIT_FINI_
#undef readDbPage
#undef SQLCIPHERKIT_READ_PgHdr
#undef SQLCIPHERKIT_READ_pPg
#undef pageReinit
#undef unixRead
#undef unixUnlock
#undef unixDelete
#undef sqlcipher_codec_ctx_init_kdf_salt
#undef SQLCIPHERKIT_SALT_codec_ctx
#undef SQLCIPHERKIT_SALT_ctx
#undef sqlite3Codec
#undef sqlcipher_extra_init
#undef SQLCIPHERKIT_START_const
#undef SQLCIPHERKIT_START_0
#undef sqlcipher_extra_shutdown
#undef SQLCIPHERKIT_STOP_void
#undef SQLCIPHERKIT_STOP_
#undef sqlite3_rekey_v2
#undef SQLCIPHERKIT_REKEY_sqlite3
#undef SQLCIPHERKIT_REKEY_db
#undef sqlcipher_codec_pragma
#undef SQLCIPHERKIT_CODEC_PRAGMA_sqlite3
#undef SQLCIPHERKIT_CODEC_PRAGMA_db
#undef sqlite3ParseUri
#undef SQLCIPHERKIT_URI_const
#undef SQLCIPHERKIT_URI_zVfs
#undef SQLCIPHERKIT_URI_db
#undef fts5IntegrityMethod
#undef fts5DestroyMethod
#undef fts5SnippetFunction
#undef sqlite3Fts5VocabInit
#undef sqlite3GenerateRowDelete
#undef sqlite3SrcListLookup

#define SQLCIPHERKIT_IS_REPLACED(original) \
    _Static_assert(sizeof &(original) > 0, "the amalgamation defines what overrides.h replaces")
SQLCIPHERKIT_IS_REPLACED(sqlcipherkit_sqlcipher_atexit);
SQLCIPHERKIT_IS_REPLACED(sqlcipherkit_sqlcipher_fini);
SQLCIPHERKIT_IS_REPLACED(sqlcipherkit_sqlite_read_page);
SQLCIPHERKIT_IS_REPLACED(sqlcipherkit_sqlite_reinit_page);
#if SQLITE_OS_UNIX
SQLCIPHERKIT_IS_REPLACED(sqlcipherkit_sqlite_unix_read);
SQLCIPHERKIT_IS_REPLACED(sqlcipherkit_sqlite_unix_unlock);
SQLCIPHERKIT_IS_REPLACED(sqlcipherkit_sqlite_unix_delete);
#endif
SQLCIPHERKIT_IS_REPLACED(sqlcipherkit_sqlcipher_read_salt);
SQLCIPHERKIT_IS_REPLACED(sqlcipherkit_sqlcipher_codec);
SQLCIPHERKIT_IS_REPLACED(sqlcipherkit_sqlcipher_start);
SQLCIPHERKIT_IS_REPLACED(sqlcipherkit_sqlcipher_stop);
SQLCIPHERKIT_IS_REPLACED(sqlcipherkit_sqlcipher_rekey);
SQLCIPHERKIT_IS_REPLACED(sqlcipherkit_sqlcipher_codec_pragma);
SQLCIPHERKIT_IS_REPLACED(sqlcipherkit_sqlite_parse_uri);
SQLCIPHERKIT_IS_REPLACED(sqlcipherkit_sqlite_fts5_integrity);
SQLCIPHERKIT_IS_REPLACED(sqlcipherkit_sqlite_fts5_destroy);
SQLCIPHERKIT_IS_REPLACED(sqlcipherkit_sqlite_snippet);
SQLCIPHERKIT_IS_REPLACED(sqlcipherkit_sqlite_start_vocabulary);
SQLCIPHERKIT_IS_REPLACED(sqlcipherkit_sqlite_delete_row);
SQLCIPHERKIT_IS_REPLACED(sqlcipherkit_sqlite_look_up);

#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wunused-function"
static void sqlcipher_atexit(void) {}
static void sqlcipher_fini(void) {}
#pragma GCC diagnostic pop

/* An alias is an error if its target has no definition. Apple's object files have no aliases, so the other systems check this. */
#ifndef __APPLE__
#ifdef SQLCIPHERKIT_PLAIN_SYMBOLS
#define SQLCIPHERKIT_MEMSET_SYMBOL "sqlcipher_memset"
#else
#define SQLCIPHERKIT_MEMSET_SYMBOL "sqlcipherkit_sqlcipher_memset"
#endif
static void *sqlcipherkit_sqlcipher_memset_is_defined(void *, unsigned char, unsigned long long)
    __attribute__((alias(SQLCIPHERKIT_MEMSET_SYMBOL), unused));
#endif

#ifndef SQLCIPHERKIT_PLAIN_SYMBOLS
#undef sqlite3TempInMemory
#undef SQLCIPHERKIT_TEMPORARY_const
#undef SQLCIPHERKIT_TEMPORARY_db
#undef SQLCIPHERKIT_TEMPORARY_p
#undef sqlite3RunVacuum
#undef sqlcipherCodecAttach
#undef attachFunc
#undef sqlite3Pragma
#undef sqlite3Attach
#undef sqlite3FinishCoding
#undef sqlite3SelectAddTypeInfo
#undef sqlite3AuthCheck
#undef sqlite3CheckObjectName
SQLCIPHERKIT_IS_REPLACED(sqlcipherkit_sqlite_temporary_is_in_memory);
SQLCIPHERKIT_IS_REPLACED(sqlcipherkit_sqlite_vacuum);
SQLCIPHERKIT_IS_REPLACED(sqlcipherkit_sqlcipher_codec_attach);
SQLCIPHERKIT_IS_REPLACED(sqlcipherkit_sqlite_attach_function);
SQLCIPHERKIT_IS_REPLACED(sqlcipherkit_sqlite_pragma);
SQLCIPHERKIT_IS_REPLACED(sqlcipherkit_sqlite_attach);
SQLCIPHERKIT_IS_REPLACED(sqlcipherkit_sqlite_finish);
SQLCIPHERKIT_IS_REPLACED(sqlcipherkit_sqlite_select_types);
SQLCIPHERKIT_IS_REPLACED(sqlcipherkit_sqlite_auth_check);
SQLCIPHERKIT_IS_REPLACED(sqlcipherkit_sqlite_check_name);
#endif
