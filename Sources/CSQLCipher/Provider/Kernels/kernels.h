/* Which kernel does what: chosen by the CPU's features, once, and changeable by tests. */
#pragma once

#include "aes.h"
#include "cpu.h"
#include "sha512.h"

struct sqlcipherkit_kernels {
    const struct sqlcipherkit_aes_kernel *aes;
    const struct sqlcipherkit_sha512_kernel *sha512;
};

/* The fastest kernels that `features` (SQLCIPHERKIT_CPU_…, those that this CPU has among them) allow. */
struct sqlcipherkit_kernels sqlcipherkit_kernels_for(unsigned features);

/* The kernels in use. Any thread may call it: two atomic loads. The two may come from different calls of
 * sqlcipherkit_provider_force(), which does no harm: they do not depend on each other. */
struct sqlcipherkit_kernels sqlcipherkit_kernels(void);

/* Whether this pair can encrypt and hash a page in one pass. */
int sqlcipherkit_kernels_can_stitch(struct sqlcipherkit_kernels kernels);

/* Whether this pair can encrypt and hash eight pages at once. */
int sqlcipherkit_kernels_have_many(struct sqlcipherkit_kernels kernels);

/* The set that kernels are chosen from when no test interferes: all that the CPU has in an optimised build; in an
 * unoptimised one (-O0), where compiled intrinsics are slower than a library's prebuilt C, less. */
unsigned sqlcipherkit_provider_default_features(void);

/* For tests and benchmarks only: choose kernels as if the CPU had no feature outside `features`, from the next page on,
 * in every connection of the process. Pass sqlcipherkit_provider_default_features() to go back. No data is harmed by
 * a change in the midst of work: every kernel computes the same. */
void sqlcipherkit_provider_force(unsigned features);
