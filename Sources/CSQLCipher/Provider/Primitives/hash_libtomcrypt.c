/* SHA-1 and SHA-256 by LibTomCrypt. Its hash states are public structures, so that a state can be set to what it was after a block
 * instead of hashing the block again. */
#include "hash.h"

#if defined(SQLCIPHERKIT_USES_LIBTOMCRYPT)
#include "../../System/secure.h"

#include <string.h>
#include <tomcrypt.h>

/* Sets `hash` to `words` as if one block had been hashed. */
static void resume(int algorithm, hash_state *hash, const uint32_t words[8]) {
    if (algorithm == SQLCIPHERKIT_SHA1) {
        hash->sha1.length = hash_block_size * 8;
        hash->sha1.curlen = 0;
        for (size_t i = 0; i < 5; i++) {
            hash->sha1.state[i] = words[i];
        }
    } else {
        hash->sha256.length = hash_block_size * 8;
        hash->sha256.curlen = 0;
        for (size_t i = 0; i < 8; i++) {
            hash->sha256.state[i] = words[i];
        }
    }
}

/* The reverse: reads the words of `hash`. */
static void keep(int algorithm, const hash_state *hash, uint32_t words[8]) {
    memset(words, 0, 8 * sizeof *words);
    for (size_t i = 0; i < sqlcipherkit_hash_size(algorithm) / 4; i++) {
        words[i] = (uint32_t)(algorithm == SQLCIPHERKIT_SHA1 ? hash->sha1.state[i] : hash->sha256.state[i]);
    }
}

static void start(int algorithm, hash_state *hash) {
    (void)(algorithm == SQLCIPHERKIT_SHA1 ? sha1_init(hash) : sha256_init(hash));
}

static void process(int algorithm, hash_state *hash, const uint8_t *bytes, size_t size) {
    if (size > 0) {
        (void)(algorithm == SQLCIPHERKIT_SHA1 ? sha1_process(hash, bytes, (unsigned long)size)
                                              : sha256_process(hash, bytes, (unsigned long)size));
    }
}

/* The part of the union that these hashes use; all of it is several times larger. */
static void wipe_hash(hash_state *hash) {
    sqlcipherkit_wipe(hash, sizeof hash->sha1 > sizeof hash->sha256 ? sizeof hash->sha1 : sizeof hash->sha256);
}

void sqlcipherkit_hash_block(int algorithm, const uint8_t block[hash_block_size], struct sqlcipherkit_hash_state *state) {
    hash_state hash;
    start(algorithm, &hash);
    process(algorithm, &hash, block, hash_block_size);
    keep(algorithm, &hash, state->words);
    wipe_hash(&hash);
}

void sqlcipherkit_hash(int algorithm, const struct sqlcipherkit_hash_state *state, const uint8_t *first, size_t first_size,
                       const uint8_t *second, size_t second_size, uint8_t *digest) {
    hash_state hash;
    if (state != NULL) {
        resume(algorithm, &hash, state->words);
    } else {
        start(algorithm, &hash);
    }
    process(algorithm, &hash, first, first_size);
    process(algorithm, &hash, second, second_size);
    (void)(algorithm == SQLCIPHERKIT_SHA1 ? sha1_done(&hash, digest) : sha256_done(&hash, digest));
    wipe_hash(&hash);
}
#endif
