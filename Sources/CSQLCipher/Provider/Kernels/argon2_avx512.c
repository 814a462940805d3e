/* Argon2's compression function with AVX-512, which rotates in one instruction. */
#if defined(__x86_64__)
#define ARGON2_FILL sqlcipherkit_argon2_fill_avx512
#define ARGON2_TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#include "argon2_fill.h"
#else
typedef int sqlcipherkit_no_argon2_avx512;
#endif
