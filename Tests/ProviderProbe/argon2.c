/* Argon2id through every kernel that this CPU has: RFC 9106's vector, kernels against each other; and without memory. */
#include "probe.h"
#include "with_kernels.h"
#include "../../Sources/CSQLCipher/Provider/Kernels/argon2_input.h"

#include "CSQLCipher.h"

#include <stdio.h>
#include <string.h>
#ifndef PROBE_WITHOUT_SYSTEM
#include <sys/resource.h>
#endif

static const struct kernel {
    const char *name;
    unsigned features;
} kernels[] = {
    {"portable C", 0},
    {"AVX2", SQLCIPHERKIT_CPU_AVX2},
    {"AVX-512", SQLCIPHERKIT_CPU_AVX2 | SQLCIPHERKIT_CPU_AVX512},
};
enum { kernel_count = sizeof kernels / sizeof *kernels, tag_size = 32 };

static sqlcipherkit_argon2_fill *fill_of(size_t kernel) { return sqlcipherkit_argon2_fill_for(kernels[kernel].features); }

static int is_missing(size_t kernel) {
    /* Where the processor is another, all names stand for the portable one. */
    return (kernels[kernel].features & ~sqlcipherkit_cpu_features()) != 0;
}

/* RFC 9106, 5.3. */
static int check_vector(size_t kernel) {
    static const uint8_t tag[tag_size] = {
        0x0d, 0x64, 0x0d, 0xf5, 0x8d, 0x78, 0x76, 0x6c, 0x08, 0xc0, 0x37, 0xa3, 0x4a, 0x8b, 0x53, 0xc9,
        0xd0, 0x1e, 0xf0, 0x45, 0x2d, 0x75, 0xb6, 0x5e, 0xb5, 0x25, 0x20, 0xe9, 0x6b, 0x01, 0xe6, 0x59,
    };
    uint8_t password[32], salt[16], secret[8], associated[12], out[tag_size];
    memset(password, 1, sizeof password);
    memset(salt, 2, sizeof salt);
    memset(secret, 3, sizeof secret);
    memset(associated, 4, sizeof associated);
    const struct sqlcipherkit_argon2_input input = {
        {password, sizeof password}, {salt, sizeof salt}, {secret, sizeof secret}, {associated, sizeof associated}, 32, 3, 4,
    };
    return sqlcipherkit_argon2id_by(fill_of(kernel), &input, out, sizeof out) != SQLITE_OK || memcmp(out, tag, sizeof tag) != 0;
}

/* Against the portable kernel, in figures of each kind. */
static int check_random(size_t kernel, uint64_t *seed) {
    uint8_t bytes[64], expected[200], found[200];
    fill_numbers(seed, bytes, sizeof bytes);
    const uint32_t lanes = 1 + next_number(seed) % 5;
    const struct sqlcipherkit_argon2_input input = {
        .password = {bytes, next_number(seed) % 40},
        .salt = {bytes + 40, next_number(seed) % 24},
        .memory_kib = (uint32_t)(8 * lanes + next_number(seed) % 700),
        .passes = 1 + next_number(seed) % 4,
        .lanes = lanes,
    };
    const size_t size = 4 + next_number(seed) % (sizeof found - 4);
    return sqlcipherkit_argon2id_by(sqlcipherkit_argon2_fill_portable, &input, expected, size) != SQLITE_OK ||
           sqlcipherkit_argon2id_by(fill_of(kernel), &input, found, size) != SQLITE_OK || memcmp(expected, found, size) != 0;
}

#ifndef PROBE_WITHOUT_SYSTEM
/* Without memory, an error and nothing else. A command of its own: the limit is on the process, and an emulator or a sanitizer sets
 * none. */
int run_argon2_memory(void) {
    uint8_t out[tag_size];
    memset(out, 7, sizeof out);
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0) return 1;
    limit.rlim_cur = 1 << 30;
    if (setrlimit(RLIMIT_AS, &limit) != 0) return 1;
    int wrong = sqlcipherkit_argon2id("x", 1, "salt", 4, 4 << 20, 1, 1, out, sizeof out) != SQLITE_NOMEM;
    wrong |= sqlcipherkit_argon2id("x", 1, "salt", 4, UINT32_MAX, 1, 1, out, sizeof out) != SQLITE_NOMEM;
    for (size_t i = 0; i < sizeof out; i++) wrong |= out[i] != 7;
    wrong |= sqlcipherkit_argon2id("x", 1, "salt", 4, 64, 1, 1, out, sizeof out) != SQLITE_OK;
    printf("Argon2id without memory: %s\n", wrong ? "WRONG" : "an error");
    return wrong;
}

#endif

int run_argon2(void) {
    int wrong = 0;
    for (size_t kernel = 0; kernel < kernel_count; kernel++) {
        if (is_missing(kernel)) {
            printf("Argon2id, %s: not on this CPU\n", kernels[kernel].name);
            continue;
        }
        uint64_t seed = 9106;
        int of_kernel = check_vector(kernel);
        for (int i = 0; i < 60; i++) of_kernel |= check_random(kernel, &seed);
        printf("Argon2id, %s: %s\n", kernels[kernel].name, of_kernel ? "WRONG" : "the vector holds");
        wrong |= of_kernel;
    }
    return wrong;
}
