/* SHA-512 by LibTomCrypt, which is compiled with optimisation however this package is compiled. */
#include "../Kernels/sha512.h"
#include "library.h"

#if defined(SQLCIPHERKIT_USES_LIBTOMCRYPT)
#include "../../System/secure.h"

#include <string.h>
#include <tomcrypt.h>

/* LibTomCrypt offers no compression function, but its sha512_process() compresses whole blocks straight from the input
 * when nothing is buffered. */
static void fold(hash_state *hash, const uint8_t *data, size_t blocks) {
    if (blocks > 0) {
        (void)sha512_process(hash, data, (unsigned long)(blocks * sha512_block_size));
    }
}

static void compress(uint64_t state[8], const uint8_t *data, size_t blocks, const uint8_t *tail, size_t tail_blocks) {
    hash_state hash;
    hash.sha512.length = 0;
    hash.sha512.curlen = 0;
    for (size_t i = 0; i < 8; i++) {
        hash.sha512.state[i] = state[i];
    }
    fold(&hash, data, blocks);
    fold(&hash, tail, tail_blocks);
    for (size_t i = 0; i < 8; i++) {
        state[i] = hash.sha512.state[i];
    }
    sqlcipherkit_wipe(&hash.sha512, sizeof hash.sha512);
}

/* See struct sqlcipherkit_sha512_kernel. The message of both compressions is a digest and the same 64 bytes of padding;
 * only the digest's bytes change. */
static void iterate(const uint64_t inner[8], const uint64_t outer[8], uint64_t u[8], uint64_t sum[8], uint32_t rounds) {
    uint8_t block[sha512_block_size] = {0};
    hash_state hash;
    block[64] = 0x80;
    block[126] = 1536 >> 8;
    block[127] = 1536 & 0xff;
    while (rounds-- > 0) {
        const uint64_t *const starts[2] = {inner, outer};
        for (int half = 0; half < 2; half++) {
            sqlcipherkit_sha512_put(block, u);
            hash.sha512.length = 0;
            hash.sha512.curlen = 0;
            memcpy(hash.sha512.state, starts[half], sha512_digest_size);
            fold(&hash, block, 1);
            memcpy(u, hash.sha512.state, sha512_digest_size);
        }
        for (size_t i = 0; i < 8; i++) {
            sum[i] ^= u[i];
        }
    }
    sqlcipherkit_wipe(&hash.sha512, sizeof hash.sha512);
    sqlcipherkit_wipe(block, sizeof block);
}

_Static_assert(sizeof(ulong64) == sizeof(uint64_t), "LibTomCrypt's words are copied as they are");

const struct sqlcipherkit_sha512_kernel sqlcipherkit_sha512_library = {
    .name = "LibTomCrypt",
    .compress = compress,
    .iterate = iterate,
    .iterate_name = "LibTomCrypt",
};
#endif
