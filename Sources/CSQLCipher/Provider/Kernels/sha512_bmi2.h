/* The BMI2 kernel's functions, for vector kernels where they have nothing better: a lone block has no company to be
 * scheduled with. Same contracts as in struct sqlcipherkit_sha512_kernel. */
#pragma once

#include "sha512.h"

void sqlcipherkit_sha512_bmi2_compress(uint64_t state[8], const uint8_t *data, size_t blocks, const uint8_t *tail,
                                       size_t tail_blocks);
void sqlcipherkit_sha512_bmi2_iterate(const uint64_t inner[8], const uint64_t outer[8], uint64_t u[8], uint64_t sum[8],
                                      uint32_t rounds);
