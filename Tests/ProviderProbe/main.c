/* The probe's commands, and what they share. With PROBE_WITHOUT_ENGINE, only those that need no database; with
 * PROBE_WITHOUT_SYSTEM also none that needs POSIX. */
#include "probe.h"
#include "with_kernels.h"

#include "CSQLCipher.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define X86_ALL                                                                                                        \
    (SQLCIPHERKIT_CPU_OWN_CODE | SQLCIPHERKIT_CPU_BMI2 | SQLCIPHERKIT_CPU_AVX2 | SQLCIPHERKIT_CPU_AVX512 |             \
     SQLCIPHERKIT_CPU_AESNI | SQLCIPHERKIT_CPU_VAES)

const struct kernel_set kernel_sets[] = {
    {"the library", 0},
    {"portable C", SQLCIPHERKIT_CPU_OWN_CODE},
    {"AES-NI alone", SQLCIPHERKIT_CPU_AESNI},
    {"BMI2, AES-NI", SQLCIPHERKIT_CPU_OWN_CODE | SQLCIPHERKIT_CPU_BMI2 | SQLCIPHERKIT_CPU_AESNI},
    {"AVX2, AES-NI",
     SQLCIPHERKIT_CPU_OWN_CODE | SQLCIPHERKIT_CPU_BMI2 | SQLCIPHERKIT_CPU_AVX2 | SQLCIPHERKIT_CPU_AESNI},
    {"AVX-512, AES-NI", X86_ALL & ~SQLCIPHERKIT_CPU_VAES},
    {"AVX-512, VAES", X86_ALL},
    {"ARM AES", SQLCIPHERKIT_CPU_OWN_CODE | SQLCIPHERKIT_CPU_ARM_AES},
    {"ARM AES, SHA-512", SQLCIPHERKIT_CPU_OWN_CODE | SQLCIPHERKIT_CPU_ARM_AES | SQLCIPHERKIT_CPU_ARM_SHA512},
};
const size_t kernel_set_count = sizeof kernel_sets / sizeof *kernel_sets;

int is_available(const struct kernel_set *set) {
    return (set->features & ~sqlcipherkit_cpu_features()) == 0;
}

uint64_t next_number(uint64_t *seed) {
    uint64_t z = *seed += 0x9e3779b97f4a7c15ULL;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
    return z ^ z >> 31;
}

void fill_numbers(uint64_t *seed, uint8_t *bytes, size_t size) {
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t)next_number(seed);
    }
}

int run_kernels(void) {
    struct sqlcipherkit_provider_info info = sqlcipherkit_provider_info();
    printf("provider %s %s: AES-256-CBC %s; SHA-512 %s; pages in %s; PBKDF2 %s; older hashes %s; random %s\n",
           info.provider, info.version, info.aes, info.sha512, info.page, info.pbkdf2, info.other, info.random);
    for (size_t i = 0; i < kernel_set_count; i++) {
        printf("%s: %s\n", kernel_sets[i].name, is_available(&kernel_sets[i]) ? "available" : "not on this CPU");
    }
    return 0;
}

/* Which kernels are taken: none but the library's without features, and never one that the CPU cannot run. */
static int run_choice(void) {
    sqlcipherkit_provider_force(0);
    const struct sqlcipherkit_provider_info least = sqlcipherkit_provider_info();
    sqlcipherkit_provider_force(~0u);
    const struct sqlcipherkit_provider_info most = sqlcipherkit_provider_info();
    const unsigned absent = sqlcipherkit_provider_default_features() & ~sqlcipherkit_cpu_features();
    int wrong = strcmp(least.aes, sqlcipherkit_aes_library.name) != 0 ||
                strcmp(least.sha512, sqlcipherkit_sha512_library.name) != 0 || strcmp(least.page, "separate") != 0 ||
                strcmp(most.sha512, "LibTomCrypt") == 0 || absent != 0;
    printf("choice: %s, %s, %s without features; %s, %s with all; %u by default that the CPU lacks\n", least.aes, least.sha512,
           least.page, most.aes, most.sha512, absent);
    return wrong;
}

static int usage(void) {
    fputs("usage: ProviderProbe kernels | choice\n"
          "       ProviderProbe vectors | primitives | pages | argon2 | argon2-memory\n"
          "       ProviderProbe differential openssl|library CASES SEED\n"
          "       ProviderProbe fork | memory | scan | writes | threads | errors FOLDER\n"
          "       ProviderProbe exchange-write | exchange-check FOLDER\n",
          stderr);
    return 2;
}

int main(int count, char **arguments) {
    if (count < 2) {
        return usage();
    }
    const char *command = arguments[1];
    const char *argument = count > 2 ? arguments[2] : NULL;
    (void)argument;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (strcmp(command, "kernels") == 0) {
        return run_kernels();
    }
    if (strcmp(command, "choice") == 0) {
        return run_choice();
    }
    if (strcmp(command, "vectors") == 0) {
        return run_vectors();
    }
    if (strcmp(command, "primitives") == 0) {
        return run_primitives() | run_poly1305();
    }
    if (strcmp(command, "pages") == 0) {
        return run_pages();
    }
    if (strcmp(command, "argon2") == 0) {
        return run_argon2();
    }
#ifndef PROBE_WITHOUT_SYSTEM
    if (strcmp(command, "argon2-memory") == 0) {
        return run_argon2_memory();
    }
    if (strcmp(command, "differential") == 0 && count == 5) {
        return run_differential(argument, atol(arguments[3]), strtoull(arguments[4], NULL, 10));
    }
#endif
#ifndef PROBE_WITHOUT_ENGINE
    if (argument == NULL) {
        return usage();
    }
    if (strcmp(command, "fork") == 0) {
        return run_fork(argument);
    }
    if (strcmp(command, "memory") == 0) {
        return run_memory(argument);
    }
    if (strcmp(command, "scan") == 0) {
        return run_scan(argument);
    }
    if (strcmp(command, "writes") == 0) {
        return run_writes(argument);
    }
    if (strcmp(command, "threads") == 0) {
        return run_threads(argument);
    }
    if (strcmp(command, "errors") == 0) {
        return run_errors(argument);
    }
    if (strcmp(command, "exchange-write") == 0) {
        return run_exchange_write(argument);
    }
    if (strcmp(command, "exchange-check") == 0) {
        return run_exchange_check(argument);
    }
#endif
    return usage();
}
