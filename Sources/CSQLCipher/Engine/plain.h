/* The engine of the product SQLCipher: SQLite's and SQLCipher's functions have their plain names. Other global symbols get names
 * that differ from those of the engine under SQLCipherKit, so that a program can contain both. engine.c includes this first. */
#define sqlcipherkit_extra_init sqlcipherkit_plain_extra_init
#define sqlcipherkit_extra_shutdown sqlcipherkit_plain_extra_shutdown
#define sqlcipherkit_fork_count sqlcipherkit_plain_fork_count
#define sqlcipherkit_provider_setup sqlcipherkit_plain_provider_setup
#define sqlcipherkit_rekey sqlcipherkit_plain_change_key
#define sqlcipherkit_start_full_text sqlcipherkit_plain_start_full_text
#define xoshiro_next sqlcipherkit_plain_xoshiro_next

/* SQL reaches keys and files here as in any other SQLCipher: what guards them is for the Swift layer's connections. */
#define upstream_attachFunc attachFunc
#define upstream_sessionSelectStmt sessionSelectStmt
#define upstream_sqlcipherCodecAttach sqlcipherCodecAttach
#define upstream_sqlite3Attach sqlite3Attach
#define upstream_sqlite3AuthCheck sqlite3AuthCheck
#define upstream_sqlite3CheckObjectName sqlite3CheckObjectName
#define upstream_sqlite3FinishCoding sqlite3FinishCoding
#define upstream_sqlite3Pragma sqlite3Pragma
#define upstream_sqlite3RunVacuum sqlite3RunVacuum
#define upstream_sqlite3SelectAddTypeInfo sqlite3SelectAddTypeInfo
#define upstream_sqlite3TempInMemory sqlite3TempInMemory
