/* Comparing a vector with many: the kernels of each processor, and what makes distances of their sums. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* How the numbers of a vector are stored. Multi-byte numbers are little-endian. */
enum sqlcipherkit_vector_element {
    sqlcipherkit_vector_float32 = 0, /* four bytes a number */
    sqlcipherkit_vector_int8 = 1,    /* one byte a number, to be multiplied by the vector's scale; zeros up to eight bytes */
    sqlcipherkit_vector_bits = 2,    /* one bit a number, the lowest first; zeros up to eight bytes */
};

enum sqlcipherkit_vector_metric {
    sqlcipherkit_vector_cosine = 0,  /* 1 - cos, from 0 to 2 */
    sqlcipherkit_vector_dot = 1,     /* the negative dot product */
    sqlcipherkit_vector_l2 = 2,      /* the Euclidean distance */
    sqlcipherkit_vector_hamming = 3, /* how many bits differ; for bits alone */
};

/* The kernels of one processor. Each compares `query` with `count` vectors that follow each other without gaps, at any address, and
 * writes a sum for each vector. None reads a byte after the last vector. The sums of integers are the same with every kernel, and
 * those of floating-point numbers differ in their last digits. */
struct sqlcipherkit_vector_kernels {
    const char *name;
    /* Dot products of `dimensions` floats. */
    void (*dot_f32)(const float *query, const void *vectors, size_t count, size_t dimensions, float *sums);
    /* Squared Euclidean distances. */
    void (*l2_f32)(const float *query, const void *vectors, size_t count, size_t dimensions, float *sums);
    /* Dot products of int16_t with int8_t. The caller keeps each sum within 32 bits: see sqlcipherkit_vector_query_limit(). */
    void (*dot_i8)(const int16_t *query, const void *vectors, size_t count, size_t dimensions, int32_t *sums);
    /* The numbers of bits that differ in `bytes` bytes. */
    void (*hamming)(const uint8_t *query, const void *vectors, size_t count, size_t bytes, uint32_t *sums);
};

/* The fastest kernels, never NULL, that `features` (SQLCIPHERKIT_CPU_… of the provider) allow, as far as this CPU has those
 * features. */
const struct sqlcipherkit_vector_kernels *sqlcipherkit_vector_kernels_for(unsigned features);

/* Sets of features for tests: each number from 0 on is another one, until 0 is returned. The last has all that kernels use. */
unsigned sqlcipherkit_vector_feature_set(int number);

/* The largest magnitude of a number of a query of int16_t, so that no sum of `dimensions` products with int8_t overflows. */
int32_t sqlcipherkit_vector_query_limit(size_t dimensions);

/* What vectors are compared with. */
struct sqlcipherkit_vector_query {
    int32_t element;    /* enum sqlcipherkit_vector_element */
    int32_t metric;     /* enum sqlcipherkit_vector_metric */
    size_t dimensions;
    const void *values; /* float, int16_t or bytes of bits, with as many zeros at the end as the vectors have */
    float scale;        /* what the numbers are multiplied by: 1 but for int8 */
    float norm;         /* the Euclidean length; above 0 for cosine */
};

/* The bytes of one vector. */
size_t sqlcipherkit_vector_size(int32_t element, size_t dimensions);

/* Compares the query with `count` vectors. `factors` has two floats for each of them, its scale and its norm, at any address; it is
 * not read for bits. Writes the distance of each to `distances`, and to `places` the numbers of those whose distance is at most
 * `limit`, in ascending order; both have room for `count`. Returns how many `places` there are; -1 if a factor is not a finite
 * number of the right sign, or a distance is not finite, as only damaged vectors have it. */
ptrdiff_t sqlcipherkit_vector_compare(const struct sqlcipherkit_vector_query *query, const void *vectors, const void *factors,
                                      size_t count, float limit, float *distances, uint32_t *places);
