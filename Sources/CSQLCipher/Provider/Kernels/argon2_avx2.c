/* Argon2's compression function with AVX2. */
#if defined(__x86_64__)
#define ARGON2_FILL sqlcipherkit_argon2_fill_avx2
#define ARGON2_TARGET __attribute__((target("avx2")))
#include "argon2_fill.h"
#else
typedef int sqlcipherkit_no_argon2_avx2;
#endif
