/* The engine that ENGINE.md was last checked against. engine.c includes this after the amalgamation, and so stops the build for
 * any other: private functions and fields may have changed their meaning without a compiler error.
 */
#define SQLCIPHERKIT_REVIEWED_SQLITE "2026-07-24 19:02:57 bf7c7f30031888f4e796e429ab3978879485813aaca6f641c7b33e4e0945alt1"
#define SQLCIPHERKIT_REVIEWED_SQLCIPHER "4.19.0"

#define SQLCIPHERKIT_SPELT(name) SQLCIPHERKIT_SPELT_OUT(name)
#define SQLCIPHERKIT_SPELT_OUT(name) #name

_Static_assert(__builtin_strcmp(SQLITE_SOURCE_ID, SQLCIPHERKIT_REVIEWED_SQLITE) == 0,
               "SQLite's version was not reviewed: read Sources/CSQLCipher/Engine/ENGINE.md, check each row, then set reviewed.h");
_Static_assert(__builtin_strcmp(SQLCIPHERKIT_SPELT(CIPHER_VERSION_NUMBER), SQLCIPHERKIT_REVIEWED_SQLCIPHER) == 0,
               "SQLCipher's version was not reviewed: read Sources/CSQLCipher/Engine/ENGINE.md, check each row, "
               "then set reviewed.h");
