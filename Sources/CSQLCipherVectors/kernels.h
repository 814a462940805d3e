/* The kernels of each processor. */
#pragma once

#include "include/sqlcipherkit_vectors.h"

extern const struct sqlcipherkit_vector_kernels sqlcipherkit_vectors_portable;
#if defined(__x86_64__)
extern const struct sqlcipherkit_vector_kernels sqlcipherkit_vectors_avx2;
extern const struct sqlcipherkit_vector_kernels sqlcipherkit_vectors_avx512;
extern const struct sqlcipherkit_vector_kernels sqlcipherkit_vectors_vnni;
#elif defined(__aarch64__)
extern const struct sqlcipherkit_vector_kernels sqlcipherkit_vectors_neon;
#endif
