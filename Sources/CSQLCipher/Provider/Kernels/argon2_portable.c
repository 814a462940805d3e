/* Argon2's compression function for every CPU. */
#define ARGON2_FILL sqlcipherkit_argon2_fill_portable
#define ARGON2_TARGET
#include "argon2_fill.h"
