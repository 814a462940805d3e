/* How many keys of each kind a connection's state keeps ready (state.h). */
#pragma once

/* Its own key and, during a rekey, the next one. A slot is an index below key_slots; no_slot stands for none. */
enum { key_slots = 2, no_slot = -1 };
