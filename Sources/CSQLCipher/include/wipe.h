/* Wiping of secret bytes. */
#pragma once

#include <stddef.h>

/* Writes zeros over `count` bytes in a way that no optimiser removes as a dead store. */
void sqlcipherkit_wipe(void *bytes, size_t count);
