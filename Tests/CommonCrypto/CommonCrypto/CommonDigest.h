/* The calls of Apple's CommonCrypto that this package makes, over OpenSSL: so that scripts/workshop/check-provider can run the code
 * for Apple's platforms on Linux. Part of that check alone. Signatures, sizes and results are those of CommonCrypto's headers. */
#pragma once
#define OPENSSL_SUPPRESS_DEPRECATED 1
#include <openssl/sha.h>
#include <stdint.h>
#include <string.h>

typedef uint32_t CC_LONG;

/* A context is used up by its end, which wipes it, and may be copied before. */
typedef struct {
    SHA_CTX of;
} CC_SHA1_CTX;
typedef struct {
    SHA256_CTX of;
} CC_SHA256_CTX;

static inline int CC_SHA1_Init(CC_SHA1_CTX *context) { return SHA1_Init(&context->of); }
static inline int CC_SHA1_Update(CC_SHA1_CTX *context, const void *data, CC_LONG size) {
    return SHA1_Update(&context->of, data, size);
}
static inline int CC_SHA1_Final(unsigned char *digest, CC_SHA1_CTX *context) {
    const int result = SHA1_Final(digest, &context->of);
    memset(context, 0xa5, sizeof *context);
    return result;
}

static inline int CC_SHA256_Init(CC_SHA256_CTX *context) { return SHA256_Init(&context->of); }
static inline int CC_SHA256_Update(CC_SHA256_CTX *context, const void *data, CC_LONG size) {
    return SHA256_Update(&context->of, data, size);
}
static inline int CC_SHA256_Final(unsigned char *digest, CC_SHA256_CTX *context) {
    const int result = SHA256_Final(digest, &context->of);
    memset(context, 0xa5, sizeof *context);
    return result;
}
