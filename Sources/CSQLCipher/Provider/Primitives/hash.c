/* The parts that are the same with every library. */
#include "hash.h"

size_t sqlcipherkit_hash_size(int algorithm) { return algorithm == SQLCIPHERKIT_SHA1 ? 20 : 32; }
