/* The mask over secrets at rest. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Enough for the largest secret, an AES key and both its schedules. */
enum { mask_size = 512 };

/* The process's mask: random bytes in separate locked memory, created at the first call and kept until the process ends. NULL
 * without memory or random bytes. Any thread may call it. */
const uint8_t *sqlcipherkit_mask(void);

/* Applies or removes the mask: out = in ^ mask, for `size` bytes, a multiple of 8; `out` may be `in`. */
void sqlcipherkit_masked(void *out, const void *in, const uint8_t *mask, size_t size);

/* Compares `size` masked bytes with unmasked bytes, in a time that depends only on `size`. 0 if they are equal. */
int sqlcipherkit_masked_differ(const uint8_t *masked, const uint8_t *mask, const uint8_t *clear, size_t size);
