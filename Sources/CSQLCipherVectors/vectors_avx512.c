/* The kernels with AVX-512 on processors without VNNI. */
#define AVX512_SETS "avx512f,avx512bw,avx512dq,avx512vl"
#define NAME "AVX-512"
#define SYMBOL sqlcipherkit_vectors_avx512
#define MULTIPLY_ADD(sum, a, b) _mm512_add_epi32(sum, _mm512_madd_epi16(a, b))

#include "vectors_avx512.h"
