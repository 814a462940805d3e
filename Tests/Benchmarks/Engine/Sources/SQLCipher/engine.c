/* The project's own translation unit, so that options and compiler are the same. */
#include "../../../../../Sources/CSQLCipher/engine.c"
