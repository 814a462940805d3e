/* Handling of secret bytes: wiping, memory of their own, and where they come from. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "../include/wipe.h"
#include "../Provider/Primitives/library.h"

/* Writes zeros over the stack below the caller, where the functions that it called just now had their frames: the
 * compiler spills secrets there that no source line names. The first reaches as deep as any kernel, and is for the end of
 * a key's derivation or life; the second covers a lone block's compression, and is cheap enough for each page. Both clear the
 * vector registers as well. */
void sqlcipherkit_wipe_stack(void);
void sqlcipherkit_wipe_stack_near(void);

/* Clears the vector registers, all of their bits: what copied or masked a key last has left parts of it there. The dynamic linker
 * saves them on the stack when a function of a library is called for the first time, and a switch of threads saves them too. */
void sqlcipherkit_wipe_registers(void);

/* Memory for secrets: zeros, aligned to 64 bytes, kept out of swap and core dumps where the system's limits allow it, on
 * pages that nothing else shares (so that no other munlock() unlocks them). `size` must be the same for the call that
 * gives it back. NULL when there is no memory. Any thread may call the two. Up to `locked_place_size` bytes mostly come
 * from a pool; more takes four system calls, as long as half the opening of a database with a raw key. */
#if defined(SQLCIPHERKIT_USES_COMMONCRYPTO)
enum { locked_place_size = 2560 }; /* its hash contexts, kept in a connection's state, are larger than the words of others */
#else
enum { locked_place_size = 2048 };
#endif
void *sqlcipherkit_locked_alloc(size_t size);

/* Wipes and gives back; NULL is allowed. */
void sqlcipherkit_locked_free(void *bytes, size_t size);

/* Memory for work with secrets that is too large to be locked: zeros on pages of its own, aligned to pages, left out of core
 * dumps. `size` must be the same for the call that wipes it and gives it back; NULL is allowed there. NULL without memory. */
void *sqlcipherkit_large_alloc(size_t size);
void sqlcipherkit_large_free(void *bytes, size_t size);

/* `size` bytes from the system's generator, asked on every call: no state of ours that a fork could copy, and no lock.
 * Returns 0, or -1 when the system cannot give them; `out` is then zeros, to be used for nothing. */
int sqlcipherkit_system_random(void *out, size_t size);
