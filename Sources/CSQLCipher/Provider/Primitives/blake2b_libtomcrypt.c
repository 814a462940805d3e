/* BLAKE2b by LibTomCrypt, which stops the program if it is given NULL. */
#include "blake2b.h"

#if defined(SQLCIPHERKIT_USES_LIBTOMCRYPT)

void sqlcipherkit_blake2b_start(struct sqlcipherkit_blake2b *hash, size_t digest_size) {
    (void)blake2b_init(&hash->hash, (unsigned long)digest_size, NULL, 0);
}

void sqlcipherkit_blake2b_add(struct sqlcipherkit_blake2b *hash, const void *bytes, size_t size) {
    if (size > 0) (void)blake2b_process(&hash->hash, bytes, (unsigned long)size);
}

void sqlcipherkit_blake2b_finish(struct sqlcipherkit_blake2b *hash, uint8_t *digest) { (void)blake2b_done(&hash->hash, digest); }
#endif
