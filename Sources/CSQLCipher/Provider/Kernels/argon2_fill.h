/* Argon2's compression function (RFC 9106, 3.5 and 3.6) on vectors of four words, which the compiler splits where the CPU's vectors
 * are shorter.
 *
 * A template: the file that includes it defines ARGON2_FILL, the function's name, and ARGON2_TARGET, a target attribute or
 * nothing. It takes constant time: the addresses come from the caller, and nothing is looked up by the blocks' content.
 */
#include "argon2_input.h"

#define ARGON2_INLINE ARGON2_TARGET static inline __attribute__((always_inline))

typedef uint64_t argon2_pair __attribute__((vector_size(16)));
typedef uint64_t argon2_quad __attribute__((vector_size(32)));

/* A word's lower half, and a rotation to the right. */
#define ARGON2_LOW(x) ((x) & 0xffffffff)
#define ARGON2_ROTATE(x, n) ((x) >> (n) | (x) << (64 - (n)))

/* GB (3.6) on four columns of the matrix at once: BLAKE2b's, with a multiplication in each addition. */
#define ARGON2_MIX(a, b) (a) += (b) + 2 * (ARGON2_LOW(a) * ARGON2_LOW(b))
#define ARGON2_HALF(a, b, c, d, first, second)                                                                                \
    do {                                                                                                                      \
        ARGON2_MIX(a, b);                                                                                                     \
        (d) ^= (a);                                                                                                           \
        (d) = ARGON2_ROTATE(d, first);                                                                                        \
        ARGON2_MIX(c, d);                                                                                                     \
        (b) ^= (c);                                                                                                           \
        (b) = ARGON2_ROTATE(b, second);                                                                                       \
    } while (0)
#define ARGON2_GB(a, b, c, d)                                                                                                 \
    do {                                                                                                                      \
        ARGON2_HALF(a, b, c, d, 32, 24);                                                                                      \
        ARGON2_HALF(a, b, c, d, 16, 63);                                                                                      \
    } while (0)

/* The permutation P (3.6) of eight pairs of words, the `i`th at `from + i * stride`: a row or a column of a block. */
ARGON2_INLINE void argon2_permute(uint64_t *from, size_t stride) {
    argon2_pair *const at = (argon2_pair *)(void *)from;
#define ARGON2_GET(i) __builtin_shufflevector(at[(i) * stride], at[((i) + 1) * stride], 0, 1, 2, 3)
    argon2_quad a = ARGON2_GET(0), b = ARGON2_GET(2), c = ARGON2_GET(4), d = ARGON2_GET(6);
    ARGON2_GB(a, b, c, d);
    /* The diagonals become columns, and are moved back afterwards. */
    b = __builtin_shufflevector(b, b, 1, 2, 3, 0);
    c = __builtin_shufflevector(c, c, 2, 3, 0, 1);
    d = __builtin_shufflevector(d, d, 3, 0, 1, 2);
    ARGON2_GB(a, b, c, d);
    b = __builtin_shufflevector(b, b, 3, 0, 1, 2);
    c = __builtin_shufflevector(c, c, 2, 3, 0, 1);
    d = __builtin_shufflevector(d, d, 1, 2, 3, 0);
#define ARGON2_PUT(i, v)                                                                                                      \
    (at[(i) * stride] = __builtin_shufflevector(v, v, 0, 1), at[((i) + 1) * stride] = __builtin_shufflevector(v, v, 2, 3))
    ARGON2_PUT(0, a);
    ARGON2_PUT(2, b);
    ARGON2_PUT(4, c);
    ARGON2_PUT(6, d);
}

ARGON2_TARGET void ARGON2_FILL(const uint64_t *previous, const uint64_t *reference, uint64_t *next, int over) {
    enum { pairs = argon2_block_words / 2 };
    const argon2_pair *const x = (const argon2_pair *)(const void *)previous;
    const argon2_pair *const y = (const argon2_pair *)(const void *)reference;
    argon2_pair *const out = (argon2_pair *)(void *)next;
    argon2_pair block[pairs];
    for (size_t i = 0; i < pairs; i++) {
        block[i] = x[i] ^ y[i];
        out[i] = over ? out[i] ^ block[i] : block[i];
    }
    for (size_t row = 0; row < 8; row++) argon2_permute((uint64_t *)(void *)(block + 8 * row), 1);
    for (size_t column = 0; column < 8; column++) argon2_permute((uint64_t *)(void *)(block + column), 8);
    for (size_t i = 0; i < pairs; i++) out[i] ^= block[i];
}
