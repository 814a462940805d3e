/* Wiping, with a compiler barrier after it. */
#include "secure.h"
#include "../Provider/Kernels/cpu.h"
#include "../include/symbols.h"

#include <stdatomic.h>
#include <string.h>

/* The empty assembly claims to read the bytes, so that the stores before it must happen. */
void sqlcipherkit_wipe(void *bytes, size_t count) {
    memset(bytes, 0, count);
    __asm__ volatile("" : : "r"(bytes) : "memory");
}

/* SQLCipher fills what it allocates and wipes what it frees with this (Vendor/patches/03-memory.patch). */
void *sqlcipher_memset(void *bytes, unsigned char value, unsigned long long size);
void *sqlcipher_memset(void *bytes, unsigned char value, unsigned long long size) {
    memset(bytes, value, (size_t)size);
    __asm__ volatile("" : : "r"(bytes) : "memory");
    return bytes;
}

/* Deeper than any kernel's frame (the largest, a double message schedule of four blocks, takes a little over 5 KB), and deeper than
 * the frames of SQLite's pager between sqlite3_step() and a page's encryption. */
enum { stack_depth = 16384, near_depth = 2048 };

__attribute__((noinline)) void sqlcipherkit_wipe_stack(void) {
    uint8_t below[stack_depth];
    sqlcipherkit_wipe_registers();
    sqlcipherkit_wipe(below, sizeof below);
}

__attribute__((noinline)) void sqlcipherkit_wipe_stack_near(void) {
    uint8_t below[near_depth];
    sqlcipherkit_wipe_registers();
    sqlcipherkit_wipe(below, sizeof below);
}

void sqlcipherkit_wipe_traces(void) { sqlcipherkit_wipe_stack(); }

#if defined(__x86_64__)

/* CPUID is run once, as it takes microseconds in a virtual machine. */
static unsigned known_features(void) {
    enum { is_known = 1u << 31 };
    static atomic_uint known;
    unsigned features = atomic_load_explicit(&known, memory_order_relaxed);
    if (features == 0) {
        features = sqlcipherkit_cpu_features() | is_known;
        atomic_store_explicit(&known, features, memory_order_relaxed);
    }
    return features;
}

/* A caller expects no vector register to be preserved (System V ABI, 3.2.1), and this function is never inlined. On Windows,
 * registers 6 to 15 are preserved, so they are declared as clobbered there. */
#if defined(_WIN32)
#define KEPT "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "memory"
#else
#define KEPT "memory"
#endif
__attribute__((noinline)) void sqlcipherkit_wipe_registers(void) {
    const unsigned features = known_features();
    if (features & SQLCIPHERKIT_CPU_AVX2) {
        /* Registers 0 to 15, in their full length. */
        __asm__ volatile("vzeroall" ::: KEPT);
    } else {
        __asm__ volatile("pxor %%xmm0, %%xmm0\n\tpxor %%xmm1, %%xmm1\n\tpxor %%xmm2, %%xmm2\n\tpxor %%xmm3, %%xmm3\n\t"
                         "pxor %%xmm4, %%xmm4\n\tpxor %%xmm5, %%xmm5\n\tpxor %%xmm6, %%xmm6\n\tpxor %%xmm7, %%xmm7\n\t"
                         "pxor %%xmm8, %%xmm8\n\tpxor %%xmm9, %%xmm9\n\tpxor %%xmm10, %%xmm10\n\tpxor %%xmm11, %%xmm11\n\t"
                         "pxor %%xmm12, %%xmm12\n\tpxor %%xmm13, %%xmm13\n\tpxor %%xmm14, %%xmm14\n\tpxor %%xmm15, %%xmm15" ::
                             : KEPT);
    }
    if (features & SQLCIPHERKIT_CPU_AVX512) {
        /* Registers 16 to 31, also in their full length. */
#define CLEAR(n) "vpxord %%xmm" #n ", %%xmm" #n ", %%xmm" #n "\n\t"
        __asm__ volatile(CLEAR(16) CLEAR(17) CLEAR(18) CLEAR(19) CLEAR(20) CLEAR(21) CLEAR(22) CLEAR(23) CLEAR(24) CLEAR(25)
                             CLEAR(26) CLEAR(27) CLEAR(28) CLEAR(29) CLEAR(30) CLEAR(31)::
                                 : "memory");
#undef CLEAR
    }
}

#elif defined(__aarch64__)

/* The lower halves of registers 8 to 15 belong to the caller, and hold no secrets (AAPCS64, 6.1.2). */
__attribute__((noinline)) void sqlcipherkit_wipe_registers(void) {
#define CLEAR(n) "movi v" #n ".16b, #0\n\t"
#define CLEAR_UPPER(n) "mov v" #n ".d[1], xzr\n\t"
    __asm__ volatile(CLEAR(0) CLEAR(1) CLEAR(2) CLEAR(3) CLEAR(4) CLEAR(5) CLEAR(6) CLEAR(7) CLEAR(16) CLEAR(17) CLEAR(18)
                         CLEAR(19) CLEAR(20) CLEAR(21) CLEAR(22) CLEAR(23) CLEAR(24) CLEAR(25) CLEAR(26) CLEAR(27) CLEAR(28)
                             CLEAR(29) CLEAR(30) CLEAR(31)::
                                 : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v16", "v17", "v18", "v19", "v20", "v21", "v22",
                                   "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31", "memory");
    __asm__ volatile(CLEAR_UPPER(8) CLEAR_UPPER(9) CLEAR_UPPER(10) CLEAR_UPPER(11) CLEAR_UPPER(12) CLEAR_UPPER(13)
                         CLEAR_UPPER(14) CLEAR_UPPER(15)::
                             : "memory");
#undef CLEAR
#undef CLEAR_UPPER
}

#else

void sqlcipherkit_wipe_registers(void) {}

#endif
