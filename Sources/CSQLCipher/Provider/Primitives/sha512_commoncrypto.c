/* SHA-512 in unoptimised builds for Apple's platforms: blocks by this package's portable C, as CommonCrypto takes no state, but a
 * whole derivation by the system, whose library is compiled with optimisation. */
#include "../Kernels/sha512.h"
#include "library.h"

#if defined(SQLCIPHERKIT_USES_COMMONCRYPTO)
#include <CommonCrypto/CommonKeyDerivation.h>

/* Part of the kernel in Kernels/sha512_portable.c. */
int sqlcipherkit_commoncrypto_pbkdf2(const uint8_t *password, size_t password_size, const uint8_t *salt, size_t salt_size,
                                     uint32_t iterations, uint8_t *out, size_t size);

int sqlcipherkit_commoncrypto_pbkdf2(const uint8_t *password, size_t password_size, const uint8_t *salt, size_t salt_size,
                                     uint32_t iterations, uint8_t *out, size_t size) {
    /* It takes no password of no bytes at NULL. */
    const char *text = password == NULL ? "" : (const char *)password;
    return CCKeyDerivationPBKDF(kCCPBKDF2, text, password_size, salt, salt_size, kCCPRFHmacAlgSHA512, iterations, out, size) == 0
               ? 0
               : -1;
}
#endif
