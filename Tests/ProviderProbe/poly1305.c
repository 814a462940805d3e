/* Poly1305 at the edges of its modulus, where random messages never come: RFC 8439, A.3, 7 to 11. Compiled in from its own file, as
 * its parts are private there. */
#define sqlcipherkit_chacha20_poly1305_seal probe_seal
#define sqlcipherkit_chacha20_poly1305_open probe_open
#include "../../Sources/CSQLCipher/Provider/Primitives/chacha20_poly1305.c"
#include "probe.h"

#include <stdio.h>

/* Bytes that are the first one, then all the second. */
struct pattern {
    uint8_t first, rest;
};

static const struct vector {
    uint8_t r;
    struct pattern s;
    int blocks;
    struct pattern message[3], tag;
} vectors[] = {
    {2, {0, 0}, 1, {{0xff, 0xff}}, {3, 0}},
    {2, {0xff, 0xff}, 1, {{2, 0}}, {3, 0}},
    {1, {0, 0}, 3, {{0xff, 0xff}, {0xf0, 0xff}, {0x11, 0}}, {5, 0}},
    {1, {0, 0}, 3, {{0xff, 0xff}, {0xfb, 0xfe}, {1, 1}}, {0, 0}},
    {2, {0, 0}, 1, {{0xfd, 0xff}}, {0xfa, 0xff}},
};

static void spread(uint8_t bytes[mac_block], struct pattern pattern) {
    memset(bytes, pattern.rest, mac_block);
    bytes[0] = pattern.first;
}

int run_poly1305(void) {
    int wrong = 0;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct poly1305 mac = {{0}, {0}};
        uint8_t bytes[mac_block], tag[mac_block], wanted[mac_block];
        spread(bytes, (struct pattern){vectors[i].r, 0});
        limbs_of(mac.r, bytes, 0);
        for (int block = 0; block < vectors[i].blocks; block++) {
            spread(bytes, vectors[i].message[block]);
            absorb(&mac, bytes);
        }
        spread(bytes, vectors[i].s);
        finish(&mac, bytes, tag);
        spread(wanted, vectors[i].tag);
        wrong += memcmp(tag, wanted, sizeof tag) != 0;
    }
    /* The functions of the whole file are used, so that none is unused here. */
    uint8_t key[32] = {0}, sealed[1], tag[16], opened[1];
    const struct sqlcipherkit_chacha20_key with = {key, key, NULL, 0};
    wrong += probe_seal(&with, key, 1, sealed, tag) != SQLITE_OK;
    wrong += probe_open(&with, sealed, 1, tag, opened) != SQLITE_OK;
    printf("Poly1305 at its edges: %s\n", wrong == 0 ? "all vectors hold" : "WRONG");
    return wrong != 0;
}
