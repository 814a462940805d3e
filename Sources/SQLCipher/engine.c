/* The engine under SQLite's and SQLCipher's plain names: the same translation unit as CSQLCipher's, compiled for itself. What is
 * different of it stands where SQLCIPHERKIT_PLAIN_SYMBOLS does, which the manifest defines. The crypto provider, whose names have
 * a prefix, is CSQLCipherProvider for both. */
#include "../CSQLCipher/Engine/engine.c"
