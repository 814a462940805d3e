/* The features of this CPU. */
#pragma once

/* The features that a kernel may need. The first is not a CPU feature: it stands for this package's own portable SHA-512. Without
 * it, a library's SHA-512 is used if there is one, as in unoptimised builds. AVX512 means the subsets F, BW, DQ and VL together.
 * The last two are for comparing vectors (Sources/CSQLCipherVectors): FMA means FMA3 and POPCNT, VNNI means AVX512_VNNI. */
enum {
    SQLCIPHERKIT_CPU_OWN_CODE = 1 << 0,
    SQLCIPHERKIT_CPU_BMI2 = 1 << 1,
    SQLCIPHERKIT_CPU_AVX2 = 1 << 2,
    SQLCIPHERKIT_CPU_AVX512 = 1 << 3,
    SQLCIPHERKIT_CPU_AESNI = 1 << 4,
    SQLCIPHERKIT_CPU_VAES = 1 << 5,
    SQLCIPHERKIT_CPU_ARM_AES = 1 << 6,
    SQLCIPHERKIT_CPU_ARM_SHA512 = 1 << 7,
    SQLCIPHERKIT_CPU_FMA = 1 << 8,
    SQLCIPHERKIT_CPU_VNNI = 1 << 9,
};

/* The features of this CPU that its operating system lets programs use, and OWN_CODE. */
unsigned sqlcipherkit_cpu_features(void);
