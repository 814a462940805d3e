/* Argon2id (RFC 9106): keys from passphrases, by a derivation that needs memory as well as time. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The bounds of RFC 9106 (3.1), besides 2^32 - 1 for each size: at least 1 lane, 1 pass, 8 KiB of memory for each lane, and 4 bytes
 * of output. */
#define SQLCIPHERKIT_ARGON2_LANES_MAX 0xffffff
#define SQLCIPHERKIT_ARGON2_OUT_MIN 4

/* Argon2id, version 0x13: writes `out_size` bytes to `out`, from a password and a salt of any size (16 random bytes are usual),
 * with `memory_kib` KiB of memory, `passes` over it, and `lanes`, which are computed one after the other on the calling thread.
 * Time grows with memory times passes.
 *
 * Returns SQLITE_OK; SQLITE_MISUSE if a parameter is outside RFC 9106's bounds; SQLITE_NOMEM if there is not enough memory. Unless
 * it returns SQLITE_OK, `out` is unchanged. The memory is wiped before it is freed, and left out of core dumps. It is not locked,
 * as it is larger than most systems let a process lock. */
int sqlcipherkit_argon2id(const void *password, size_t password_size, const void *salt, size_t salt_size, uint32_t memory_kib,
                          uint32_t passes, uint32_t lanes, void *out, size_t out_size);
