/* Wipes secret bytes, and the traces of work with them. */
#pragma once

#include <stddef.h>

/* Writes zeros over `count` bytes, in a way that the optimiser cannot remove as a dead store. */
void sqlcipherkit_wipe(void *bytes, size_t count);

/* Clears the vector registers and the stack below the caller, 16 KiB of it: for the end of a call that has worked with a key. */
void sqlcipherkit_wipe_traces(void);
