/* Chooses the kernels. Environment variables have no influence: whoever can set one must not be able to slow a program down or make
 * it use table look-ups. */
#include "kernels.h"

#include <stdatomic.h>
#include <stddef.h>

struct sqlcipherkit_kernels sqlcipherkit_kernels_for(unsigned features) {
    struct sqlcipherkit_kernels kernels = {&sqlcipherkit_aes_library, &sqlcipherkit_sha512_library};
    features &= sqlcipherkit_cpu_features();
    if (features & SQLCIPHERKIT_CPU_OWN_CODE) {
        kernels.sha512 = &sqlcipherkit_sha512_portable;
    }
#if defined(__x86_64__)
    /* Each step also needs the one before it: the vector kernels' rounds are BMI2 code. */
    if ((features & SQLCIPHERKIT_CPU_OWN_CODE) && (features & SQLCIPHERKIT_CPU_BMI2)) {
        kernels.sha512 = &sqlcipherkit_sha512_bmi2;
        if (features & SQLCIPHERKIT_CPU_AVX2) {
            kernels.sha512 = &sqlcipherkit_sha512_avx2;
            if (features & SQLCIPHERKIT_CPU_AVX512) {
                kernels.sha512 = &sqlcipherkit_sha512_avx512;
            }
        }
    }
    if (features & SQLCIPHERKIT_CPU_AESNI) {
        kernels.aes = &sqlcipherkit_aes_aesni;
        if ((features & SQLCIPHERKIT_CPU_VAES) && (features & SQLCIPHERKIT_CPU_AVX512)) {
            kernels.aes = &sqlcipherkit_aes_vaes;
        }
    }
#elif defined(__aarch64__)
    if ((features & SQLCIPHERKIT_CPU_OWN_CODE) && (features & SQLCIPHERKIT_CPU_ARM_SHA512)) {
        kernels.sha512 = &sqlcipherkit_sha512_arm;
    }
    if (features & SQLCIPHERKIT_CPU_ARM_AES) {
        kernels.aes = &sqlcipherkit_aes_arm;
    }
#endif
    return kernels;
}

unsigned sqlcipherkit_provider_default_features(void) {
#ifdef __OPTIMIZE__
    return sqlcipherkit_cpu_features();
#else
    /* Measured at -O0: SHA-512 written in C or intrinsics takes four to ten times as long as LibTomCrypt's, whose package was
     * compiled with optimisation; the same holds for CommonCrypto. With AES instructions, decryption is still three times as fast
     * as with LibTomCrypt's tables, and encryption is as fast. */
    return sqlcipherkit_cpu_features() & (SQLCIPHERKIT_CPU_AESNI | SQLCIPHERKIT_CPU_ARM_AES);
#endif
}

static _Atomic(const struct sqlcipherkit_aes_kernel *) aes_in_use;
static _Atomic(const struct sqlcipherkit_sha512_kernel *) sha512_in_use;

void sqlcipherkit_provider_force(unsigned features) {
    struct sqlcipherkit_kernels kernels = sqlcipherkit_kernels_for(features);
    atomic_store_explicit(&aes_in_use, kernels.aes, memory_order_release);
    atomic_store_explicit(&sha512_in_use, kernels.sha512, memory_order_release);
}

struct sqlcipherkit_kernels sqlcipherkit_kernels(void) {
    struct sqlcipherkit_kernels kernels = {
        atomic_load_explicit(&aes_in_use, memory_order_acquire),
        atomic_load_explicit(&sha512_in_use, memory_order_acquire),
    };
    if (kernels.aes == NULL || kernels.sha512 == NULL) {
        /* Threads that get here at the same time find the same kernels. A test's choice in between is kept: only NULL is
         * replaced. */
        struct sqlcipherkit_kernels found = sqlcipherkit_kernels_for(sqlcipherkit_provider_default_features());
        const struct sqlcipherkit_aes_kernel *no_aes = NULL;
        const struct sqlcipherkit_sha512_kernel *no_sha512 = NULL;
        kernels.aes = atomic_compare_exchange_strong(&aes_in_use, &no_aes, found.aes) ? found.aes : no_aes;
        kernels.sha512 =
            atomic_compare_exchange_strong(&sha512_in_use, &no_sha512, found.sha512) ? found.sha512 : no_sha512;
    }
    return kernels;
}

int sqlcipherkit_kernels_can_stitch(struct sqlcipherkit_kernels kernels) {
    return kernels.aes->family == aes_family_aesni && kernels.sha512->encrypt_and_compress != NULL;
}

int sqlcipherkit_kernels_have_many(struct sqlcipherkit_kernels kernels) {
    return kernels.aes->encrypt_cbc_many != NULL && kernels.sha512->compress_many != NULL;
}
