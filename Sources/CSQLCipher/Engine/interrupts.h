/* Interrupts. Only engine.c includes this, after the amalgamation. */
#include "../include/interrupts.h"

void sqlcipherkit_forget_interrupt(sqlite3 *db) {
    sqlite3_mutex_enter(db->mutex);
    /* As sqlite3_step() does for the first statement. */
    if (db->nVdbeActive == 0) __atomic_store_n(&db->u1.isInterrupted, 0, __ATOMIC_RELAXED);
    sqlite3_mutex_leave(db->mutex);
}
