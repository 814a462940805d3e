/* The project's own translation unit, so that options and compiler are the same; `Provider` beside it is a link to the
 * project's. */
#include "../../../../../Sources/CSQLCipher/engine.c"
