/* The kernels in use: chosen once, by the CPU's features; tests can change them. */
#pragma once

#include "aes.h"
#include "cpu.h"
#include "sha512.h"

struct sqlcipherkit_kernels {
    const struct sqlcipherkit_aes_kernel *aes;
    const struct sqlcipherkit_sha512_kernel *sha512;
};

/* The fastest kernels that `features` (SQLCIPHERKIT_CPU_…) allow, as far as this CPU has those features. */
struct sqlcipherkit_kernels sqlcipherkit_kernels_for(unsigned features);

/* The kernels in use: two atomic loads. Any thread may call it. The two may come from different calls of
 * sqlcipherkit_provider_force(), which is harmless, as they do not depend on each other. */
struct sqlcipherkit_kernels sqlcipherkit_kernels(void);

/* Returns whether this pair can encrypt and hash a page in one pass. */
int sqlcipherkit_kernels_can_stitch(struct sqlcipherkit_kernels kernels);

/* Returns whether this pair can encrypt and hash eight pages at once. */
int sqlcipherkit_kernels_have_many(struct sqlcipherkit_kernels kernels);

/* The features from which kernels are chosen when no test interferes: in an optimised build all that the CPU has; in an unoptimised
 * one (-O0) fewer, as compiled intrinsics are slower there than a library's prebuilt C. */
unsigned sqlcipherkit_provider_default_features(void);

/* For tests and benchmarks only: chooses kernels as if the CPU had no feature outside `features`, from the next page on, in every
 * connection of the process. Pass sqlcipherkit_provider_default_features() to go back. A change during work does not harm data, as
 * every kernel computes the same. */
void sqlcipherkit_provider_force(unsigned features);
