/* SHA-512 in unoptimised builds for Apple's platforms. Blocks use this package's portable C, as CommonCrypto cannot start from a
 * state. A whole derivation uses the system's library, which is compiled with optimisation. */
#include "../Kernels/sha512.h"
#include "library.h"

#if defined(SQLCIPHERKIT_USES_COMMONCRYPTO)
#include <CommonCrypto/CommonKeyDerivation.h>

/* Part of the kernel in Kernels/sha512_portable.c. */
int sqlcipherkit_commoncrypto_pbkdf2(const uint8_t *password, size_t password_size, const uint8_t *salt, size_t salt_size,
                                     uint32_t iterations, uint8_t *out, size_t size);

int sqlcipherkit_commoncrypto_pbkdf2(const uint8_t *password, size_t password_size, const uint8_t *salt, size_t salt_size,
                                     uint32_t iterations, uint8_t *out, size_t size) {
    /* CommonCrypto does not accept NULL for an empty password. */
    const char *text = password == NULL ? "" : (const char *)password;
    return CCKeyDerivationPBKDF(kCCPBKDF2, text, password_size, salt, salt_size, kCCPRFHmacAlgSHA512, iterations, out, size) == 0
               ? 0
               : -1;
}
#endif
