/* A target needs a source; this one has headers alone. */
#include "sqlite3ext.h"
