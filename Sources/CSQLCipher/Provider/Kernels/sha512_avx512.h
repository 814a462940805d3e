/* Shared by the AVX-512 files: their target, and the hash of a lone block. */
#pragma once

#include "aes.h"
#include "sha512.h"

#include <immintrin.h>

#define AVX512 __attribute__((target("bmi,bmi2,avx2,avx512f,avx512bw,avx512dq,avx512vl,aes")))
#define AVX512_INLINE AVX512 static inline __attribute__((always_inline))

/* The bytes of each 8-byte word, reversed. */
AVX512_INLINE __m128i avx512_byte_order(void) {
    return _mm_set_epi8(8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
}

/* Folds one block of 128 bytes into `state`. */
void sqlcipherkit_sha512_avx512_lone(uint64_t state[8], const uint8_t *block);
