/* The project's own translation unit, so that options and compiler are the same; `Provider` and `System` beside it are
 * links to the project's. */
#include "../../../../../Sources/CSQLCipher/Engine/engine.c"
