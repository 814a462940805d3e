/* See CommonDigest.h. */
#pragma once
#include <openssl/evp.h>
#include <stdint.h>

typedef uint32_t CCPBKDFAlgorithm;
typedef uint32_t CCPseudoRandomAlgorithm;
enum { kCCPBKDF2 = 2 };
enum { kCCPRFHmacAlgSHA512 = 5 };
enum { kCCParamError = -4300 };

static inline int CCKeyDerivationPBKDF(CCPBKDFAlgorithm algorithm, const char *password, size_t password_size, const uint8_t *salt,
                                       size_t salt_size, CCPseudoRandomAlgorithm prf, unsigned rounds, uint8_t *key,
                                       size_t key_size) {
    if (algorithm != kCCPBKDF2 || prf != kCCPRFHmacAlgSHA512 || password == NULL || (salt == NULL && salt_size > 0) || rounds == 0 ||
        key == NULL || key_size == 0) {
        return kCCParamError;
    }
    return PKCS5_PBKDF2_HMAC(password, (int)password_size, salt, (int)salt_size, (int)rounds, EVP_sha512(), (int)key_size, key) == 1
               ? 0
               : kCCParamError;
}
