/* The kernels with AVX-512 and its VNNI, which adds products of 16-bit numbers to 32-bit sums in one instruction. */
#define AVX512_SETS "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni"
#define NAME "AVX-512 VNNI"
#define SYMBOL sqlcipherkit_vectors_vnni
#define MULTIPLY_ADD(sum, a, b) _mm512_dpwssd_epi32(sum, a, b)

#include "vectors_avx512.h"
