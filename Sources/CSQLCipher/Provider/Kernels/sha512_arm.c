/* SHA-512 with the AArch64 SHA512 instructions, two rounds per pair of instructions. */
#if defined(__aarch64__)

#include "sha512.h"

#include <arm_neon.h>

#define ARM_SHA512 __attribute__((target("+sha3")))
#define ARM_SHA512_INLINE ARM_SHA512 static inline __attribute__((always_inline))

/* Words 0 to 15 of the message schedule, two to a register, in the host's byte order; or the eight words of a state. */
struct message {
    uint64x2_t pair[8];
};
struct state {
    uint64x2_t ab, cd, ef, gh;
};

ARM_SHA512_INLINE struct state load_state(const uint64_t words[8]) {
    struct state state = {vld1q_u64(words), vld1q_u64(words + 2), vld1q_u64(words + 4), vld1q_u64(words + 6)};
    return state;
}

ARM_SHA512_INLINE void store_state(uint64_t words[8], struct state state) {
    vst1q_u64(words, state.ab);
    vst1q_u64(words + 2, state.cd);
    vst1q_u64(words + 4, state.ef);
    vst1q_u64(words + 6, state.gh);
}

/* Two rounds (FIPS 180-4, 6.4.2). SHA512H computes the sums of both rounds' first additions, and SHA512H2 adds the majority and the
 * rotations of a; the variables then move on by two places. */
ARM_SHA512_INLINE struct state two_rounds(struct state s, uint64x2_t words, const uint64_t *constants) {
    uint64x2_t sum = vaddq_u64(words, vld1q_u64(constants));
    sum = vaddq_u64(vextq_u64(sum, sum, 1), s.gh);
    sum = vsha512hq_u64(sum, vextq_u64(s.ef, s.gh, 1), vextq_u64(s.cd, s.ef, 1));
    struct state next = {vsha512h2q_u64(sum, s.cd, s.ab), s.ab, vaddq_u64(s.cd, sum), s.ef};
    return next;
}

ARM_SHA512_INLINE struct state fold(struct state before, struct message m) {
    const uint64_t *constants = sqlcipherkit_sha512_round_constants;
    struct state s = before;
    for (int t = 0; t < 80; t += 16) {
        for (int i = 0; i < 8; i++) {
            s = two_rounds(s, m.pair[i], constants + t + 2 * i);
            if (t < 64) {
                uint64x2_t seven_back = vextq_u64(m.pair[(i + 4) & 7], m.pair[(i + 5) & 7], 1);
                m.pair[i] = vsha512su1q_u64(vsha512su0q_u64(m.pair[i], m.pair[(i + 1) & 7]), m.pair[(i + 7) & 7],
                                            seven_back);
            }
        }
    }
    s.ab = vaddq_u64(s.ab, before.ab);
    s.cd = vaddq_u64(s.cd, before.cd);
    s.ef = vaddq_u64(s.ef, before.ef);
    s.gh = vaddq_u64(s.gh, before.gh);
    return s;
}

ARM_SHA512_INLINE struct state fold_run(struct state state, const uint8_t *block, size_t blocks) {
    for (; blocks > 0; blocks--, block += sha512_block_size) {
        struct message message;
        for (int i = 0; i < 8; i++) {
            message.pair[i] = vreinterpretq_u64_u8(vrev64q_u8(vld1q_u8(block + 16 * i)));
        }
        state = fold(state, message);
    }
    return state;
}

ARM_SHA512 static void compress(uint64_t words[8], const uint8_t *data, size_t blocks, const uint8_t *tail,
                                size_t tail_blocks) {
    struct state state = load_state(words);
    state = fold_run(state, data, blocks);
    state = fold_run(state, tail, tail_blocks);
    store_state(words, state);
}

/* A digest after a pad: its words, a one bit, zeros, and the length of pad and digest, 1,536 bits. */
ARM_SHA512_INLINE struct state fold_digest(struct state start, struct state digest) {
    const struct message message = {{
        digest.ab,
        digest.cd,
        digest.ef,
        digest.gh,
        vcombine_u64(vcreate_u64(0x8000000000000000ULL), vcreate_u64(0)),
        vdupq_n_u64(0),
        vdupq_n_u64(0),
        vcombine_u64(vcreate_u64(0), vcreate_u64(1536)),
    }};
    return fold(start, message);
}

ARM_SHA512 static void iterate(const uint64_t inner[8], const uint64_t outer[8], uint64_t u[8], uint64_t sum[8],
                               uint32_t rounds) {
    const struct state inner_pad = load_state(inner);
    const struct state outer_pad = load_state(outer);
    struct state digest = load_state(u);
    struct state total = load_state(sum);
    while (rounds-- > 0) {
        digest = fold_digest(outer_pad, fold_digest(inner_pad, digest));
        total.ab = veorq_u64(total.ab, digest.ab);
        total.cd = veorq_u64(total.cd, digest.cd);
        total.ef = veorq_u64(total.ef, digest.ef);
        total.gh = veorq_u64(total.gh, digest.gh);
    }
    store_state(u, digest);
    store_state(sum, total);
}

const struct sqlcipherkit_sha512_kernel sqlcipherkit_sha512_arm = {
    .name = "AArch64 SHA-512",
    .compress = compress,
    .iterate = iterate,
    .iterate_name = "AArch64 SHA-512",
};

#endif
