/* What SQLCipher defines and this package replaces, with the pinned file unchanged. engine.c includes this before the
 * amalgamation, and overrides_end.h after it, which stops the build if one of these no longer replaces anything.
 *
 * A macro with parameters applies where a parenthesis follows the name: at the definition, which thus gets another name. Where
 * the name stands alone, as a function to be called later, it is the package's own function, declared here.
 */

/* Weak, so that the definition in System/secure.c takes the place of SQLCipher's own, which writes byte by byte through a
 * volatile pointer: a twelfth of what opening a database with a raw key takes. */
__attribute__((weak)) void *sqlcipher_memset(void *, unsigned char, unsigned long long);

/* SQLCipher frees its keys and its provider when the process exits, while other threads may still be writing: they would
 * crash, or encrypt with what is left of a key. Ours do nothing, as the memory goes with the process. Apple's address sanitizer
 * has the second called instead of registered, which its empty parenthesis tells from the definition. */
static void sqlcipher_atexit(void);
static void sqlcipher_fini(void);
#define sqlcipher_atexit(none) sqlcipherkit_sqlcipher_atexit(none)
#define sqlcipher_fini(none) SQLCIPHERKIT_FINI_##none
#define SQLCIPHERKIT_FINI_void sqlcipherkit_sqlcipher_fini(void)
#define SQLCIPHERKIT_FINI_ sqlcipher_fini()

#ifdef SQLCIPHERKIT_OWN_PROVIDER
/* The function that the pager calls for each page: codec.h has ours. */
static void *sqlite3Codec(void *, void *, unsigned int, int);
#define sqlite3Codec(codec, data, number, mode) sqlcipherkit_sqlcipher_codec(codec, data, number, mode)
#endif
