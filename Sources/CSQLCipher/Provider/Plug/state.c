/* The slots of a connection. See state.h. */
#include "state.h"
#include "mask.h"
#include "../../System/secure.h"

#include <stdlib.h>
#include <string.h>

enum {
    kept_key_size = 64,
    /* After this many uses of other slots, an idle slot is wiped: enough for a rekey that reads many pages before it writes. */
    idle_limit = 4096,
};

/* The masked parts: the key, by which a slot is found, and its expanded form. */
struct cipher_secret {
    uint8_t key[aes256_key_size];
    struct sqlcipherkit_aes_schedule schedule;
};
struct mac_secret {
    uint8_t key[kept_key_size];
    uint8_t pads[sizeof(((struct sqlcipherkit_ready_mac *)0)->pads)];
};
_Static_assert(sizeof(struct cipher_secret) <= mask_size && sizeof(struct cipher_secret) % 8 == 0, "see mask.h");
_Static_assert(sizeof(struct mac_secret) <= mask_size && sizeof(struct mac_secret) % 8 == 0, "see mask.h");

struct cipher_slot {
    int in_use;
    int family;        /* of the kernel that wrote the schedule */
    uint64_t last_use;
    struct cipher_secret secret;
};

struct mac_slot {
    int in_use;
    int algorithm;
    size_t key_size;
    uint64_t last_use;
    struct mac_secret secret;
};

struct sqlcipherkit_state {
    const uint8_t *mask;
    uint64_t now; /* counts uses */
    struct cipher_slot ciphers[key_slots];
    struct mac_slot macs[key_slots];
    struct sqlcipherkit_pipeline pipeline;
};
_Static_assert(sizeof(struct sqlcipherkit_state) <= locked_place_size, "a connection's state has a place in the pool");

struct sqlcipherkit_state *sqlcipherkit_state_create(void) {
    const uint8_t *mask = sqlcipherkit_mask();
    struct sqlcipherkit_state *state = mask == NULL ? NULL : sqlcipherkit_locked_alloc(sizeof *state);
    if (state != NULL) {
        state->mask = mask;
    }
    return state;
}

void sqlcipherkit_state_destroy(struct sqlcipherkit_state *state) {
    if (state == NULL) {
        return;
    }
    sqlcipherkit_pipeline_free(&state->pipeline);
    sqlcipherkit_locked_free(state, sizeof *state);
    sqlcipherkit_wipe_stack();
}

struct sqlcipherkit_pipeline *sqlcipherkit_state_pipeline(struct sqlcipherkit_state *state) {
    return &state->pipeline;
}

/* Results computed with a slot must not be used for the next key in it. */
static void clear_cipher(struct sqlcipherkit_state *state, int slot) {
    sqlcipherkit_wipe(&state->ciphers[slot], sizeof state->ciphers[slot]);
    sqlcipherkit_pipeline_drop_cipher(&state->pipeline, slot);
}

static void clear_mac(struct sqlcipherkit_state *state, int slot) {
    sqlcipherkit_wipe(&state->macs[slot], sizeof state->macs[slot]);
    sqlcipherkit_pipeline_drop_mac(&state->pipeline, slot);
}

void sqlcipherkit_state_forget(struct sqlcipherkit_state *state) {
    if (state == NULL) {
        return;
    }
    for (int i = 0; i < key_slots; i++) {
        clear_cipher(state, i);
        clear_mac(state, i);
    }
}

/* Wipes slots that have not been used for long. */
static void age(struct sqlcipherkit_state *state) {
    state->now++;
    for (int i = 0; i < key_slots; i++) {
        if (state->ciphers[i].in_use && state->now - state->ciphers[i].last_use > idle_limit) {
            clear_cipher(state, i);
        }
        if (state->macs[i].in_use && state->now - state->macs[i].last_use > idle_limit) {
            clear_mac(state, i);
        }
    }
}

static int find_cipher(const struct sqlcipherkit_state *state, int family, const uint8_t key[32]) {
    for (int i = 0; i < key_slots; i++) {
        const struct cipher_slot *slot = &state->ciphers[i];
        if (slot->in_use && slot->family == family &&
            sqlcipherkit_masked_differ(slot->secret.key, state->mask, key, aes256_key_size) == 0) {
            return i;
        }
    }
    return no_slot;
}

/* Expands `key` into the slot that was used least recently. Returns the slot, or no_slot if the kernel refuses the key. */
static int new_cipher(struct sqlcipherkit_state *state, const struct sqlcipherkit_aes_kernel *kernel,
                      const uint8_t key[32]) {
    int index = state->ciphers[0].last_use <= state->ciphers[1].last_use ? 0 : 1;
    struct cipher_slot *slot = &state->ciphers[index];
    struct cipher_secret clear;
    clear_cipher(state, index);
    memcpy(clear.key, key, sizeof clear.key);
    int failed = kernel->expand(key, &clear.schedule);
    if (!failed) {
        sqlcipherkit_masked(&slot->secret, &clear, state->mask, sizeof clear);
        slot->in_use = 1;
        slot->family = kernel->family;
    }
    sqlcipherkit_wipe(&clear, sizeof clear);
    sqlcipherkit_wipe_stack();
    return failed ? no_slot : index;
}

int sqlcipherkit_state_cipher(struct sqlcipherkit_state *state, const struct sqlcipherkit_aes_kernel *kernel,
                              const uint8_t key[32], int encrypt, struct sqlcipherkit_ready_cipher *ready) {
    ready->slot = no_slot;
    if (state == NULL) {
        return kernel->expand(key, &ready->schedule);
    }
    age(state);
    int index = find_cipher(state, kernel->family, key);
    if (index == no_slot) {
        index = new_cipher(state, kernel, key);
        if (index == no_slot) {
            return -1;
        }
    }
    struct cipher_slot *slot = &state->ciphers[index];
    slot->last_use = state->now;
    ready->slot = index;
    if (encrypt) {
        sqlcipherkit_masked(ready->schedule.encrypt, slot->secret.schedule.encrypt,
                            state->mask + offsetof(struct cipher_secret, schedule.encrypt),
                            sizeof ready->schedule.encrypt);
    } else {
        sqlcipherkit_masked(ready->schedule.decrypt, slot->secret.schedule.decrypt,
                            state->mask + offsetof(struct cipher_secret, schedule.decrypt),
                            sizeof ready->schedule.decrypt);
    }
    return 0;
}

static void make_pads(const struct sqlcipherkit_sha512_kernel *kernel, int algorithm, const uint8_t *key,
                      size_t key_size, struct sqlcipherkit_ready_mac *ready) {
    if (algorithm == SQLCIPHERKIT_SHA512) {
        sqlcipherkit_hmac_sha512_pads(kernel, key, key_size, &ready->pads.sha512);
    } else {
        memset(&ready->pads, 0, sizeof ready->pads);
        sqlcipherkit_small_pads(algorithm, key, key_size, &ready->pads.small);
    }
    sqlcipherkit_wipe_stack();
}

static int find_mac(const struct sqlcipherkit_state *state, int algorithm, const uint8_t *key, size_t key_size) {
    for (int i = 0; i < key_slots; i++) {
        const struct mac_slot *slot = &state->macs[i];
        if (slot->in_use && slot->algorithm == algorithm && slot->key_size == key_size &&
            sqlcipherkit_masked_differ(slot->secret.key, state->mask, key, key_size) == 0) {
            return i;
        }
    }
    return no_slot;
}

/* Computes the key's pads in the slot that was used least recently, and returns the slot. */
static int new_mac(struct sqlcipherkit_state *state, const struct sqlcipherkit_sha512_kernel *kernel, int algorithm,
                   const uint8_t *key, size_t key_size) {
    int index = state->macs[0].last_use <= state->macs[1].last_use ? 0 : 1;
    struct mac_slot *slot = &state->macs[index];
    struct sqlcipherkit_ready_mac ready;
    struct mac_secret clear = {{0}, {0}};
    clear_mac(state, index);
    make_pads(kernel, algorithm, key, key_size, &ready);
    memcpy(clear.key, key, key_size);
    memcpy(clear.pads, &ready.pads, sizeof clear.pads);
    sqlcipherkit_masked(&slot->secret, &clear, state->mask, sizeof clear);
    slot->in_use = 1;
    slot->algorithm = algorithm;
    slot->key_size = key_size;
    sqlcipherkit_wipe(&ready, sizeof ready);
    sqlcipherkit_wipe(&clear, sizeof clear);
    return index;
}

void sqlcipherkit_state_mac(struct sqlcipherkit_state *state, const struct sqlcipherkit_sha512_kernel *kernel,
                            int algorithm, const uint8_t *key, size_t key_size, struct sqlcipherkit_ready_mac *ready) {
    ready->slot = no_slot;
    if (state == NULL || key_size > kept_key_size) {
        make_pads(kernel, algorithm, key, key_size, ready);
        return;
    }
    age(state);
    int index = find_mac(state, algorithm, key, key_size);
    if (index == no_slot) {
        index = new_mac(state, kernel, algorithm, key, key_size);
    }
    struct mac_slot *slot = &state->macs[index];
    slot->last_use = state->now;
    ready->slot = index;
    sqlcipherkit_masked(&ready->pads, slot->secret.pads, state->mask + offsetof(struct mac_secret, pads),
                        sizeof ready->pads);
}

void sqlcipherkit_state_inner_pad(const struct sqlcipherkit_state *state, int mac_slot, uint64_t words[8]) {
    sqlcipherkit_masked(words, state->macs[mac_slot].secret.pads, state->mask + offsetof(struct mac_secret, pads),
                        8 * sizeof *words);
}
