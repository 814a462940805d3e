/* See library.h. */
#include "library.h"

#if defined(SQLCIPHERKIT_USES_LIBTOMCRYPT)
#include <tomcrypt.h>

const char *sqlcipherkit_library_version(void) { return SCRYPT; }
#else

const char *sqlcipherkit_library_version(void) { return ""; }
#endif
