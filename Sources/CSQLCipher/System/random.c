/* Random bytes for salts and initialisation vectors, from the system's generator.
 *
 * LibTomCrypt's Fortuna, which SQLCipher's stock provider uses, keeps its state in the process: after fork(), parent and child
 * continue with the same numbers. The kernel's generator has no state to copy, and needs no lock and no seeding.
 */
#ifdef __linux__
#define _DEFAULT_SOURCE 1
#endif

#include "secure.h"
#include "../include/random.h"

#include <errno.h>

#if defined(__APPLE__)
#include <CommonCrypto/CommonCryptoError.h>
#include <CommonCrypto/CommonRandom.h>
#elif defined(_WIN32)
#include <windows.h>
#include <bcrypt.h>
#elif defined(__wasi__)
#include <unistd.h>
#else
#include <sys/random.h>
#include <sys/types.h>
#endif

/* Returns 0 when all `size` bytes are random. */
static int fill(uint8_t *out, size_t size) {
#if defined(__APPLE__)
    return CCRandomGenerateBytes(out, size) == kCCSuccess ? 0 : -1;
#elif defined(_WIN32)
    return BCryptGenRandom(NULL, out, (ULONG)size, BCRYPT_USE_SYSTEM_PREFERRED_RNG) == 0 ? 0 : -1;
#elif defined(__wasi__)
    while (size > 0) {
        const size_t part = size < 256 ? size : 256; /* the most that one call gives */
        if (getentropy(out, part) != 0) {
            return -1;
        }
        out += part;
        size -= part;
    }
    return 0;
#else
    while (size > 0) {
        ssize_t count = getrandom(out, size, 0);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) { /* a filter can let the call return 0, with errno as it was */
            return -1;
        }
        out += count;
        size -= (size_t)count;
    }
    return 0;
#endif
}

/* SQLCipher passes on that there was an error, but not which. */
static _Thread_local int refusal = 0;

int sqlcipherkit_system_random(void *out, size_t size) {
    errno = EIO; /* Apple's generator does not set it */
    if (fill(out, size) == 0) return 0;
    refusal = errno;
    sqlcipherkit_wipe(out, size);
    return -1;
}

int sqlcipherkit_take_random_refusal(void) {
    const int taken = refusal;
    refusal = 0;
    return taken;
}
