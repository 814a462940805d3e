/* Argon2id: the hashing of the first blocks and of the result, and the order in which the blocks are filled. See argon2.h. */
#include "argon2_input.h"
#include "cpu.h"
#include "../Primitives/blake2b.h"
#include "../../System/secure.h"
#include "../../include/argon2.h"
#include "../../include/options.h"
#include "../../include/symbols.h"
#include "../../../../Vendor/sqlcipher/sqlite3.h"

#include <string.h>

enum { version = 0x13, type_id = 2, start_size = 64, hash_size = 64 };

/* Everything that a derivation keeps beside its large memory. It is in locked memory, as an attacker that knows H0 can try
 * passwords at almost no cost. */
struct derivation {
    _Alignas(64) uint64_t zero[argon2_block_words]; /* never written */
    uint64_t counter[argon2_block_words];           /* the input of the addresses that do not depend on data (3.4.1.2) */
    uint64_t addresses[argon2_block_words];
    uint8_t bytes[argon2_block_size];
    uint8_t start[start_size + 8];                  /* H0, and two numbers (3.2) */
    uint8_t link[hash_size];
    struct sqlcipherkit_blake2b hash;
    sqlcipherkit_argon2_fill *fill;
    uint64_t *memory;
    uint32_t passes, lanes, lane_blocks, segment;   /* blocks of a lane, and of a quarter of it */
};

static void put32(uint8_t out[4], uint64_t number) {
    for (int i = 0; i < 4; i++) out[i] = (uint8_t)(number >> 8 * i);
}

static void words_of(uint64_t *words, const uint8_t *bytes) {
    for (size_t i = 0; i < argon2_block_words; i++, bytes += 8) {
        words[i] = 0;
        for (int j = 0; j < 8; j++) words[i] |= (uint64_t)bytes[j] << 8 * j;
    }
}

static void hash_bytes(struct derivation *d, const void *bytes, size_t size) {
    sqlcipherkit_blake2b_add(&d->hash, bytes, size);
}

static void hash_number(struct derivation *d, uint64_t number) {
    uint8_t bytes[4];
    put32(bytes, number);
    hash_bytes(d, bytes, sizeof bytes);
}

static void hash_string(struct derivation *d, const struct sqlcipherkit_argon2_string *string) {
    hash_number(d, string->size);
    hash_bytes(d, string->bytes, string->size);
}

static void begin(struct derivation *d, size_t size) { sqlcipherkit_blake2b_start(&d->hash, size); }

/* H' (3.3): `size` bytes, at least 4, from BLAKE2b, which gives at most 64. */
static void long_hash(struct derivation *d, const void *bytes, size_t count, uint8_t *out, size_t size) {
    begin(d, size < hash_size ? size : hash_size);
    hash_number(d, size);
    hash_bytes(d, bytes, count);
    sqlcipherkit_blake2b_finish(&d->hash, d->link);
    while (size > hash_size) {
        /* Half of each link; then all of the last one, which is no longer than the rest. */
        memcpy(out, d->link, hash_size / 2);
        out += hash_size / 2;
        size -= hash_size / 2;
        begin(d, size < hash_size ? size : hash_size);
        hash_bytes(d, d->link, hash_size);
        sqlcipherkit_blake2b_finish(&d->hash, d->link);
    }
    memcpy(out, d->link, size);
}

/* H0 (3.2). */
static void hash_input(struct derivation *d, const struct sqlcipherkit_argon2_input *input, size_t out_size) {
    begin(d, start_size);
    hash_number(d, input->lanes);
    hash_number(d, out_size);
    hash_number(d, input->memory_kib);
    hash_number(d, input->passes);
    hash_number(d, version);
    hash_number(d, type_id);
    hash_string(d, &input->password);
    hash_string(d, &input->salt);
    hash_string(d, &input->secret);
    hash_string(d, &input->associated);
    sqlcipherkit_blake2b_finish(&d->hash, d->start);
}

static uint64_t *block(struct derivation *d, uint32_t lane, uint32_t index) {
    return d->memory + ((size_t)lane * d->lane_blocks + index) * argon2_block_words;
}

/* The first two blocks of each lane. */
static void fill_first(struct derivation *d) {
    for (uint32_t lane = 0; lane < d->lanes; lane++) {
        for (uint32_t index = 0; index < 2; index++) {
            put32(d->start + start_size, index);
            put32(d->start + start_size + 4, lane);
            long_hash(d, d->start, sizeof d->start, d->bytes, sizeof d->bytes);
            words_of(block(d, lane, index), d->bytes);
        }
    }
}

/* The block that is mixed in (3.4.2): `random`, that is J1 and J2, determines its lane and its place in the lane. */
static const uint64_t *reference(struct derivation *d, uint32_t pass, uint32_t slice, uint32_t lane, uint32_t index,
                                 uint64_t random) {
    const uint32_t other = pass == 0 && slice == 0 ? lane : (uint32_t)((random >> 32) % d->lanes);
    /* The segments that are complete in each lane. In its own lane, also the blocks of this segment so far, except the last one. In
     * another lane, without the last block while this segment has no blocks. */
    uint32_t area = (pass == 0 ? slice : argon2_slices - 1) * d->segment;
    if (other == lane) {
        area += index - 1;
    } else if (index == 0) {
        area -= 1;
    }
    const uint64_t x = (random & 0xffffffff) * (random & 0xffffffff) >> 32;
    const uint64_t place = area - 1 - (area * x >> 32);
    const uint64_t first = pass == 0 ? 0 : ((slice + 1) % argon2_slices) * (uint64_t)d->segment;
    return block(d, other, (uint32_t)((first + place) % d->lane_blocks));
}

/* The next 128 addresses of the half of the first pass that does not depend on data. */
static void next_addresses(struct derivation *d) {
    d->counter[6]++;
    d->fill(d->zero, d->counter, d->addresses, 0);
    d->fill(d->zero, d->addresses, d->addresses, 0);
}

static void fill_segment(struct derivation *d, uint32_t pass, uint32_t slice, uint32_t lane) {
    const int independent = pass == 0 && slice < argon2_slices / 2;
    if (independent) {
        const uint64_t numbers[7] = {pass, lane, slice, (uint64_t)d->lanes * d->lane_blocks, d->passes, type_id, 0};
        memcpy(d->counter, numbers, sizeof numbers);
    }
    for (uint32_t index = 0; index < d->segment; index++) {
        if (independent && index % argon2_block_words == 0) next_addresses(d);
        if (pass == 0 && slice == 0 && index < 2) continue;
        const uint32_t at = slice * d->segment + index;
        const uint64_t *previous = block(d, lane, at == 0 ? d->lane_blocks - 1 : at - 1);
        const uint64_t random = independent ? d->addresses[index % argon2_block_words] : previous[0];
        d->fill(previous, reference(d, pass, slice, lane, index, random), block(d, lane, at), pass > 0);
    }
}

static void finish(struct derivation *d, uint8_t *out, size_t out_size) {
    uint64_t *sum = block(d, 0, d->lane_blocks - 1);
    for (uint32_t lane = 1; lane < d->lanes; lane++) {
        const uint64_t *last = block(d, lane, d->lane_blocks - 1);
        for (size_t i = 0; i < argon2_block_words; i++) sum[i] ^= last[i];
    }
    for (size_t i = 0; i < sizeof d->bytes; i++) d->bytes[i] = (uint8_t)(sum[i / 8] >> 8 * (i % 8));
    long_hash(d, d->bytes, sizeof d->bytes, out, out_size);
}

static int is_allowed(const struct sqlcipherkit_argon2_input *input, const void *out, size_t out_size) {
    const struct sqlcipherkit_argon2_string *strings[] = {
        &input->password, &input->salt, &input->secret, &input->associated,
    };
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
        if (strings[i]->size > UINT32_MAX || (strings[i]->bytes == NULL && strings[i]->size > 0)) return 0;
    }
    return out != NULL && out_size >= SQLCIPHERKIT_ARGON2_OUT_MIN && out_size <= UINT32_MAX && input->passes > 0 &&
           input->lanes > 0 && input->lanes <= SQLCIPHERKIT_ARGON2_LANES_MAX && input->memory_kib / 8 >= input->lanes;
}

int sqlcipherkit_argon2id_by(sqlcipherkit_argon2_fill *fill, const struct sqlcipherkit_argon2_input *input, void *out,
                             size_t out_size) {
    if (!is_allowed(input, out, out_size)) return SQLITE_MISUSE;
    const uint32_t segment = input->memory_kib / (argon2_slices * input->lanes);
    const uint64_t blocks = (uint64_t)segment * argon2_slices * input->lanes;
    if (blocks > SIZE_MAX / argon2_block_size) return SQLITE_NOMEM;
    const size_t size = (size_t)blocks * argon2_block_size;

    struct derivation *d = sqlcipherkit_locked_alloc(sizeof *d);
    uint64_t *memory = d == NULL ? NULL : sqlcipherkit_large_alloc(size);
    if (memory == NULL) {
        sqlcipherkit_locked_free(d, sizeof *d);
        return SQLITE_NOMEM;
    }
    d->fill = fill;
    d->memory = memory;
    d->passes = input->passes;
    d->lanes = input->lanes;
    d->segment = segment;
    d->lane_blocks = segment * argon2_slices;
    hash_input(d, input, out_size);
    fill_first(d);
    for (uint32_t pass = 0; pass < d->passes; pass++) {
        for (uint32_t slice = 0; slice < argon2_slices; slice++) {
            for (uint32_t lane = 0; lane < d->lanes; lane++) fill_segment(d, pass, slice, lane);
        }
    }
    finish(d, out, out_size);
    sqlcipherkit_large_free(memory, size);
    sqlcipherkit_locked_free(d, sizeof *d);
    /* Wipes what BLAKE2b and the kernel have left in their frames. */
    sqlcipherkit_wipe_stack();
    return SQLITE_OK;
}

sqlcipherkit_argon2_fill *sqlcipherkit_argon2_fill_for(unsigned features) {
#if defined(__x86_64__)
    if (features & SQLCIPHERKIT_CPU_AVX512) return sqlcipherkit_argon2_fill_avx512;
    if (features & SQLCIPHERKIT_CPU_AVX2) return sqlcipherkit_argon2_fill_avx2;
#else
    (void)features;
#endif
    return sqlcipherkit_argon2_fill_portable;
}

int sqlcipherkit_argon2id(const void *password, size_t password_size, const void *salt, size_t salt_size, uint32_t memory_kib,
                          uint32_t passes, uint32_t lanes, void *out, size_t out_size) {
    const struct sqlcipherkit_argon2_input input = {
        .password = {password, password_size},
        .salt = {salt, salt_size},
        .memory_kib = memory_kib,
        .passes = passes,
        .lanes = lanes,
    };
    return sqlcipherkit_argon2id_by(sqlcipherkit_argon2_fill_for(sqlcipherkit_cpu_features()), &input, out, out_size);
}
