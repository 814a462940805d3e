/* Finds the features that the CPU has and that the operating system lets programs use. */
#include "cpu.h"

#if defined(__x86_64__)

#include <cpuid.h>

/* XGETBV of register 0: the parts of the vector registers that the system saves when it switches threads. A CPU may have
 * instructions whose registers the system does not save. */
static unsigned saved_registers(void) {
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

enum {
    saves_ymm = 0x06, /* SSE and AVX state */
    saves_zmm = 0xe6, /* and the mask registers and both halves of the AVX-512 state */
};

unsigned sqlcipherkit_cpu_features(void) {
    unsigned a, b, c, d;
    unsigned saved = 0;
    unsigned features = SQLCIPHERKIT_CPU_OWN_CODE;
    if (!__get_cpuid(1, &a, &b, &c, &d)) {
        return features;
    }
    if (c & bit_OSXSAVE) {
        saved = saved_registers();
    }
    if ((c & bit_AES) && (c & bit_SSE4_1)) {
        features |= SQLCIPHERKIT_CPU_AESNI;
    }
    if ((saved & saves_ymm) == saves_ymm && (c & bit_FMA) && (c & bit_POPCNT)) {
        features |= SQLCIPHERKIT_CPU_FMA;
    }
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
        return features;
    }
    if ((b & bit_BMI) && (b & bit_BMI2)) {
        features |= SQLCIPHERKIT_CPU_BMI2;
    }
    if ((saved & saves_ymm) == saves_ymm && (b & bit_AVX2)) {
        features |= SQLCIPHERKIT_CPU_AVX2;
    }
    if ((saved & saves_zmm) == saves_zmm && (b & bit_AVX512F) && (b & bit_AVX512BW) && (b & bit_AVX512DQ) &&
        (b & bit_AVX512VL)) {
        features |= SQLCIPHERKIT_CPU_AVX512;
        if (c & bit_AVX512VNNI) {
            features |= SQLCIPHERKIT_CPU_VNNI;
        }
    }
    if ((saved & saves_ymm) == saves_ymm && (c & bit_VAES)) {
        features |= SQLCIPHERKIT_CPU_VAES;
    }
    return features;
}

#elif defined(__aarch64__) && defined(__linux__)

#include <sys/auxv.h>

#ifndef HWCAP_AES
#define HWCAP_AES (1UL << 3)
#endif
#ifndef HWCAP_SHA512
#define HWCAP_SHA512 (1UL << 21)
#endif

unsigned sqlcipherkit_cpu_features(void) {
    unsigned long capabilities = getauxval(AT_HWCAP);
    unsigned features = SQLCIPHERKIT_CPU_OWN_CODE;
    if (capabilities & HWCAP_AES) {
        features |= SQLCIPHERKIT_CPU_ARM_AES;
    }
    if (capabilities & HWCAP_SHA512) {
        features |= SQLCIPHERKIT_CPU_ARM_SHA512;
    }
    return features;
}

#elif defined(__aarch64__) && defined(__APPLE__)

#include <stddef.h>
#include <sys/sysctl.h>

static int is_set(const char *name) {
    int value = 0;
    size_t size = sizeof value;
    return sysctlbyname(name, &value, &size, NULL, 0) == 0 && value != 0;
}

unsigned sqlcipherkit_cpu_features(void) {
    unsigned features = SQLCIPHERKIT_CPU_OWN_CODE;
    if (is_set("hw.optional.arm.FEAT_AES")) {
        features |= SQLCIPHERKIT_CPU_ARM_AES;
    }
    if (is_set("hw.optional.arm.FEAT_SHA512")) {
        features |= SQLCIPHERKIT_CPU_ARM_SHA512;
    }
    return features;
}

#else

unsigned sqlcipherkit_cpu_features(void) {
    return SQLCIPHERKIT_CPU_OWN_CODE;
}

#endif
