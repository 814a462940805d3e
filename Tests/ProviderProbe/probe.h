/* A program that puts the crypto provider to the test, one property to a command. It is C, and a process of its own,
 * because some of the properties are of a process (no key left in its memory, other numbers after a fork), and because the
 * sanitizers, valgrind and an emulator can run it as it is.
 *
 * Every command returns 0 when the property holds; else it says what does not, on standard output.
 */
#ifndef PROVIDER_PROBE_H
#define PROVIDER_PROBE_H

#include <stddef.h>
#include <stdint.h>

/* Choices of kernels to test, by the features they need (provider.h). */
struct kernel_set {
    const char *name;
    unsigned features;
};
extern const struct kernel_set kernel_sets[];
extern const size_t kernel_set_count;

/* 1 if this CPU has all that the set needs. */
int is_available(const struct kernel_set *set);

/* Deterministic numbers for test data (splitmix64). */
uint64_t next_number(uint64_t *seed);
void fill_numbers(uint64_t *seed, uint8_t *bytes, size_t size);

/* Commands. `argument` is the command's own; see main.c. */
int run_kernels(void);
int run_vectors(void);
int run_primitives(void);
int run_poly1305(void);
int run_differential(const char *oracle, long cases, uint64_t seed);
int run_pages(void);
int run_argon2(void);
int run_argon2_memory(void);
int run_fork(const char *folder);
int run_memory(const char *folder);
int run_scan(const char *folder);
int run_writes(const char *folder);
int run_threads(const char *folder);
int run_errors(const char *folder);
int run_exchange_write(const char *folder);
int run_exchange_check(const char *folder);

#endif
