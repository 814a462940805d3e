/* AES-256 (FIPS 197) in CBC mode (SP 800-38A, 6.2): kernels. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { aes_block_size = 16, aes256_key_size = 32, aes256_round_keys = 15, aes_many = 8 };

/* An expanded key. Each kernel has its own format of round keys: only the kernel that wrote a schedule, or one with the same
 * `family`, may read it. */
struct sqlcipherkit_aes_schedule {
    uint8_t encrypt[aes256_round_keys * aes_block_size];
    uint8_t decrypt[aes256_round_keys * aes_block_size];
};

/* Processes `size` bytes, a multiple of 16, from `in` to `out`, which may be the same. `iv` has 16 bytes and is not changed. */
typedef void sqlcipherkit_aes_cbc(const struct sqlcipherkit_aes_schedule *schedule, const uint8_t iv[16], const uint8_t *in,
                                  size_t size, uint8_t *out);

/* encrypt_cbc for eight messages of `size` bytes, each with the initialisation vector after the `size` bytes of its `out`. Takes
 * little longer than one message. The same message may be given more than once. */
typedef void sqlcipherkit_aes_cbc_many(const struct sqlcipherkit_aes_schedule *schedule, const uint8_t *const in[aes_many],
                                       size_t size, uint8_t *const out[aes_many]);

struct sqlcipherkit_aes_kernel {
    const char *name;
    int family;

    /* Expands a key of 32 bytes into both halves of `schedule`. Returns 0, or -1 if a library refuses. */
    int (*expand)(const uint8_t key[32], struct sqlcipherkit_aes_schedule *schedule);
    sqlcipherkit_aes_cbc *encrypt_cbc; /* reads only the encrypt half of the schedule */
    sqlcipherkit_aes_cbc *decrypt_cbc; /* reads only the decrypt half */
    sqlcipherkit_aes_cbc_many *encrypt_cbc_many; /* NULL in kernels that cannot */
};

/* Families of schedules. */
enum { aes_family_library, aes_family_aesni, aes_family_arm };

/* For CPUs without AES instructions (Primitives/). */
extern const struct sqlcipherkit_aes_kernel sqlcipherkit_aes_library;
#if defined(__x86_64__)
extern const struct sqlcipherkit_aes_kernel sqlcipherkit_aes_aesni;
extern const struct sqlcipherkit_aes_kernel sqlcipherkit_aes_vaes;
/* The AES-NI kernel's functions, which the VAES kernel uses as well; decrypt_cbc for the remainder of a page that is not a multiple
 * of 256 bytes. */
int sqlcipherkit_aesni_expand(const uint8_t key[32], struct sqlcipherkit_aes_schedule *schedule);
sqlcipherkit_aes_cbc sqlcipherkit_aesni_encrypt_cbc, sqlcipherkit_aesni_decrypt_cbc;
sqlcipherkit_aes_cbc_many sqlcipherkit_aesni_encrypt_cbc_many;
#elif defined(__aarch64__)
extern const struct sqlcipherkit_aes_kernel sqlcipherkit_aes_arm;
#endif
