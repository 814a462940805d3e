/* SHA-1 and SHA-256 by CommonCrypto. A context is a plain structure that may be copied in the middle of a message (CC_SHA256(3cc)),
 * which is how a state is kept. No call can fail: its header says "each returns 1". */
#include "hash.h"

#if defined(SQLCIPHERKIT_USES_COMMONCRYPTO)
#include "../../System/secure.h"

static void start(int algorithm, struct sqlcipherkit_hash_state *state) {
    (void)(algorithm == SQLCIPHERKIT_SHA1 ? CC_SHA1_Init(&state->context.sha1) : CC_SHA256_Init(&state->context.sha256));
}

/* CommonCrypto's sizes have 32 bits. */
static void process(int algorithm, struct sqlcipherkit_hash_state *state, const uint8_t *bytes, size_t size) {
    enum { most = 1 << 30 };
    while (size > 0) {
        const CC_LONG part = (CC_LONG)(size < most ? size : most);
        (void)(algorithm == SQLCIPHERKIT_SHA1 ? CC_SHA1_Update(&state->context.sha1, bytes, part)
                                              : CC_SHA256_Update(&state->context.sha256, bytes, part));
        bytes += part;
        size -= part;
    }
}

void sqlcipherkit_hash_block(int algorithm, const uint8_t block[hash_block_size], struct sqlcipherkit_hash_state *state) {
    start(algorithm, state);
    process(algorithm, state, block, hash_block_size);
}

void sqlcipherkit_hash(int algorithm, const struct sqlcipherkit_hash_state *state, const uint8_t *first, size_t first_size,
                       const uint8_t *second, size_t second_size, uint8_t *digest) {
    struct sqlcipherkit_hash_state hash;
    if (state != NULL) {
        hash = *state;
    } else {
        start(algorithm, &hash);
    }
    process(algorithm, &hash, first, first_size);
    process(algorithm, &hash, second, second_size);
    (void)(algorithm == SQLCIPHERKIT_SHA1 ? CC_SHA1_Final(digest, &hash.context.sha1)
                                          : CC_SHA256_Final(digest, &hash.context.sha256));
    sqlcipherkit_wipe(&hash, sizeof hash);
}
#endif
