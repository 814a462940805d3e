/* SHA-512 of eight messages at once with AVX-512: word for word, each message in its own eighth of the registers.
 *
 * One message's rounds wait for each other; eight messages' do not. That makes a block of each cost little more than a
 * quarter of what eight blocks of one message cost.
 */
#if defined(__x86_64__)

#include "sha512_avx512.h"

enum { messages = sha512_many };

/* 0x96: exclusive or of three; 0xca: choice; 0xe8: majority. FIPS 180-4, 4.1.3. */
AVX512_INLINE __m512i big_sigma0(__m512i x) {
    return _mm512_ternarylogic_epi64(_mm512_ror_epi64(x, 28), _mm512_ror_epi64(x, 34), _mm512_ror_epi64(x, 39), 0x96);
}
AVX512_INLINE __m512i big_sigma1(__m512i x) {
    return _mm512_ternarylogic_epi64(_mm512_ror_epi64(x, 14), _mm512_ror_epi64(x, 18), _mm512_ror_epi64(x, 41), 0x96);
}
AVX512_INLINE __m512i small_sigma0(__m512i x) {
    return _mm512_ternarylogic_epi64(_mm512_ror_epi64(x, 1), _mm512_ror_epi64(x, 8), _mm512_srli_epi64(x, 7), 0x96);
}
AVX512_INLINE __m512i small_sigma1(__m512i x) {
    return _mm512_ternarylogic_epi64(_mm512_ror_epi64(x, 19), _mm512_ror_epi64(x, 61), _mm512_srli_epi64(x, 6), 0x96);
}

/* Eight words of each of eight messages, from `at` in their blocks: from a row for each message to a row for each word. */
AVX512_INLINE void gather(__m512i words[8], const uint8_t *const block[messages], size_t at) {
    __m512i row[8], pair[8], quad[8];
    for (int i = 0; i < 8; i++) {
        row[i] = _mm512_shuffle_epi8(_mm512_loadu_si512(block[i] + at), _mm512_broadcast_i32x4(avx512_byte_order()));
    }
    for (int i = 0; i < 8; i += 2) {
        pair[i] = _mm512_unpacklo_epi64(row[i], row[i + 1]);
        pair[i + 1] = _mm512_unpackhi_epi64(row[i], row[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
        for (int odd = 0; odd < 2; odd++) {
            quad[i + odd] = _mm512_shuffle_i64x2(pair[i + odd], pair[i + odd + 2], 0x88);
            quad[i + odd + 2] = _mm512_shuffle_i64x2(pair[i + odd], pair[i + odd + 2], 0xdd);
        }
    }
    for (int i = 0; i < 4; i++) {
        words[i] = _mm512_shuffle_i64x2(quad[i], quad[i + 4], 0x88);
        words[i + 4] = _mm512_shuffle_i64x2(quad[i], quad[i + 4], 0xdd);
    }
}

AVX512 void sqlcipherkit_sha512_avx512_many(uint64_t state[8][messages], const uint8_t *const data[messages],
                                            size_t blocks) {
    __m512i chain[8];
    for (int i = 0; i < 8; i++) {
        chain[i] = _mm512_loadu_si512(state[i]);
    }
    for (size_t number = 0; number < blocks; number++) {
        __m512i w[16];
        gather(w, data, number * sha512_block_size);
        gather(w + 8, data, number * sha512_block_size + 64);
        __m512i a = chain[0], b = chain[1], c = chain[2], d = chain[3];
        __m512i e = chain[4], f = chain[5], g = chain[6], h = chain[7];
#pragma clang loop unroll(full)
        for (int t = 0; t < 80; t++) {
            if (t >= 16) {
                __m512i old = _mm512_add_epi64(w[t & 15], w[(t - 7) & 15]);
                __m512i mixed = _mm512_add_epi64(small_sigma0(w[(t - 15) & 15]), small_sigma1(w[(t - 2) & 15]));
                w[t & 15] = _mm512_add_epi64(old, mixed);
            }
            __m512i constant = _mm512_set1_epi64((long long)sqlcipherkit_sha512_round_constants[t]);
            __m512i sum = _mm512_add_epi64(_mm512_add_epi64(h, _mm512_add_epi64(w[t & 15], constant)),
                                           _mm512_add_epi64(_mm512_ternarylogic_epi64(e, f, g, 0xca), big_sigma1(e)));
            h = g;
            g = f;
            f = e;
            e = _mm512_add_epi64(d, sum);
            __m512i other = _mm512_add_epi64(_mm512_ternarylogic_epi64(a, b, c, 0xe8), big_sigma0(a));
            d = c;
            c = b;
            b = a;
            a = _mm512_add_epi64(sum, other);
        }
        const __m512i end[8] = {a, b, c, d, e, f, g, h};
        for (int i = 0; i < 8; i++) {
            chain[i] = _mm512_add_epi64(chain[i], end[i]);
        }
    }
    for (int i = 0; i < 8; i++) {
        _mm512_storeu_si512(state[i], chain[i]);
    }
}

#endif
