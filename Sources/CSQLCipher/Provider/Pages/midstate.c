/* See midstate.h. */
#include "midstate.h"
#include "../../System/secure.h"

#include <stdlib.h>
#include <string.h>

int sqlcipherkit_midstate_reserve(struct sqlcipherkit_midstate *midstate, size_t size) {
    if (midstate->capacity < size) {
        free(midstate->copy);
        midstate->copy = malloc(size);
        midstate->capacity = midstate->copy == NULL ? 0 : size;
    }
    return midstate->capacity < size ? -1 : 0;
}

void sqlcipherkit_midstate_keep(struct sqlcipherkit_midstate *midstate, int cipher_slot, const uint8_t *out, size_t hashed,
                                const uint64_t words[8]) {
    midstate->out = out;
    midstate->cipher_slot = cipher_slot;
    midstate->mac_slot = midstate->mac_slot_after[cipher_slot];
    midstate->hashed = hashed;
    if (hashed > 0) {
        memcpy(midstate->words, words, sizeof midstate->words);
        memcpy(midstate->copy, out, hashed);
    }
}

size_t sqlcipherkit_midstate_take(struct sqlcipherkit_midstate *midstate, int mac_slot, const uint8_t *in, size_t size,
                                  uint64_t words[8]) {
    size_t hashed = 0;
    if (midstate->out == NULL) {
        return 0;
    }
    if (mac_slot != no_slot && midstate->out == in) {
        midstate->mac_slot_after[midstate->cipher_slot] = mac_slot;
        if (midstate->hashed > 0 && midstate->mac_slot == mac_slot && midstate->hashed <= size &&
            memcmp(in, midstate->copy, midstate->hashed) == 0) {
            hashed = midstate->hashed;
            memcpy(words, midstate->words, sizeof midstate->words);
        }
    }
    sqlcipherkit_midstate_drop(midstate);
    return hashed;
}

void sqlcipherkit_midstate_drop(struct sqlcipherkit_midstate *midstate) {
    midstate->out = NULL;
    sqlcipherkit_wipe(midstate->words, sizeof midstate->words);
}

void sqlcipherkit_midstate_drop_cipher(struct sqlcipherkit_midstate *midstate, int cipher_slot) {
    midstate->mac_slot_after[cipher_slot] = no_slot;
    sqlcipherkit_midstate_drop(midstate);
}

void sqlcipherkit_midstate_drop_mac(struct sqlcipherkit_midstate *midstate, int mac_slot) {
    for (int i = 0; i < key_slots; i++) {
        if (midstate->mac_slot_after[i] == mac_slot) {
            midstate->mac_slot_after[i] = no_slot;
        }
    }
    if (midstate->mac_slot == mac_slot) {
        sqlcipherkit_midstate_drop(midstate);
    }
}
