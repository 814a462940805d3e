/* Handling of secret bytes: wiping, separate memory, and random bytes. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "../include/wipe.h"
#include "../Provider/Primitives/library.h"

/* Writes zeros over the stack below the caller, where the functions that it has just called had their frames: the compiler spills
 * secrets there that no source line names. The first function reaches as deep as any kernel, and is for the end of a key's
 * derivation or lifetime. The second covers the compression of a single block, and is cheap enough for each page. Both clear the
 * vector registers as well. */
void sqlcipherkit_wipe_stack(void);
void sqlcipherkit_wipe_stack_near(void);

/* Clears the vector registers, all of their bits: the last code that copied or masked a key has left parts of it there. The dynamic
 * linker saves these registers on the stack when a library function is called for the first time, and so does a thread switch. */
void sqlcipherkit_wipe_registers(void);

/* Allocates memory for secrets: zeros, aligned to 64 bytes, kept out of swap and core dumps if the system's limits allow it, on
 * pages that nothing else shares (so that no other munlock() unlocks them). Returns NULL if there is no memory. Pass the same
 * `size` to the call that frees it. Any thread may call the two functions. Up to `locked_place_size` bytes mostly come from a pool;
 * more takes four system calls, half as long as opening a database with a raw key. */
#if defined(SQLCIPHERKIT_USES_COMMONCRYPTO)
enum { locked_place_size = 2560 }; /* a connection's state has its hash contexts, which are larger than other libraries' */
#else
enum { locked_place_size = 2048 };
#endif
void *sqlcipherkit_locked_alloc(size_t size);

/* Wipes and frees the memory; NULL is allowed. */
void sqlcipherkit_locked_free(void *bytes, size_t size);

/* Allocates memory for work with secrets that is too large to be locked: zeros on separate pages, aligned to pages, left out of
 * core dumps. Returns NULL if there is no memory. Pass the same `size` to the call that wipes and frees it, which allows NULL. */
void *sqlcipherkit_large_alloc(size_t size);
void sqlcipherkit_large_free(void *bytes, size_t size);

/* Writes `size` bytes from the system's generator, which is called every time: there is no state that a fork could copy, and no
 * lock. Returns 0, or -1 if the system cannot give them; `out` is then zeros and must not be used. */
int sqlcipherkit_system_random(void *out, size_t size);
