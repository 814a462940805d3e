/* Between calls, a secret is never in memory unmasked: an accidental read past a buffer, a core dump or a swapped page reveals
 * nothing without the mask, which is stored elsewhere. This is no defence against an attacker who reads the whole process. */
#include "mask.h"
#include "../../System/secure.h"

#include <stdatomic.h>
#include <string.h>

static _Atomic(uint8_t *) process_mask;

/* More than a place in the pool of locked memory, so that the mask gets its own pages and is not beside the secrets that it
 * covers. */
enum { reserved = 4096 };

const uint8_t *sqlcipherkit_mask(void) {
    uint8_t *mask = atomic_load_explicit(&process_mask, memory_order_acquire);
    if (mask != NULL) {
        return mask;
    }
    mask = sqlcipherkit_locked_alloc(reserved);
    if (mask == NULL) {
        return NULL;
    }
    if (sqlcipherkit_system_random(mask, mask_size) != 0) {
        sqlcipherkit_locked_free(mask, reserved);
        return NULL;
    }
    uint8_t *other = NULL;
    if (!atomic_compare_exchange_strong(&process_mask, &other, mask)) {
        sqlcipherkit_locked_free(mask, reserved);
        return other;
    }
    return mask;
}

void sqlcipherkit_masked(void *out, const void *in, const uint8_t *mask, size_t size) {
    uint8_t *to = out;
    const uint8_t *from = in;
    for (size_t i = 0; i < size; i += 8) {
        uint64_t word, cover;
        memcpy(&word, from + i, sizeof word);
        memcpy(&cover, mask + i, sizeof cover);
        word ^= cover;
        memcpy(to + i, &word, sizeof word);
    }
}

int sqlcipherkit_masked_differ(const uint8_t *masked, const uint8_t *mask, const uint8_t *clear, size_t size) {
    unsigned difference = 0;
    for (size_t i = 0; i < size; i++) {
        difference |= (unsigned)(masked[i] ^ mask[i] ^ clear[i]);
    }
    /* Hides from the optimiser that one set bit decides the result. */
    __asm__("" : "+r"(difference));
    return (int)difference;
}
