/* The engine under SQLite's and SQLCipher's plain names: the same translation unit as CSQLCipher's, compiled separately. The
 * differences are where the sources test SQLCIPHERKIT_PLAIN_SYMBOLS, which the manifest defines. Both use the same crypto provider,
 * CSQLCipherProvider, whose names have a prefix. */
#include "../CSQLCipher/Engine/engine.c"
