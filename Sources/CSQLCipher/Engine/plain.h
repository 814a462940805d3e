/* The engine of the product SQLCipher: SQLite's and SQLCipher's functions have their plain names. Other global symbols get names
 * that differ from those of the engine under SQLCipherKit, so that a program can contain both. engine.c includes this first. */
#define sqlcipherkit_fork_count sqlcipherkit_plain_fork_count
#define sqlcipherkit_provider_setup sqlcipherkit_plain_provider_setup
#define sqlcipherkit_rekey sqlcipherkit_plain_change_key
#define sqlcipherkit_sqlcipher_codec_pragma sqlcipherkit_plain_codec_pragma
#define sqlcipherkit_sqlcipher_rekey sqlcipherkit_plain_rekey
#define sqlcipherkit_sqlcipher_start sqlcipherkit_plain_start
#define sqlcipherkit_sqlcipher_stop sqlcipherkit_plain_stop
#define xoshiro_next sqlcipherkit_plain_xoshiro_next
