/* Wiping of secret bytes. */
#ifndef SQLCIPHERKIT_WIPE_H
#define SQLCIPHERKIT_WIPE_H

#include <stddef.h>

/* Writes zeros over `count` bytes in a way that no optimiser removes as a dead store. */
void sqlcipherkit_wipe(void *bytes, size_t count);

#endif
