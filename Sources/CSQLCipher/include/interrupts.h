/* Interrupts that came too late. */
#pragma once

#include "sqlite.h"

/* Forgets an interrupt that came while no statement ran, which sqlite3_interrupt() promises to be nothing. A checkpoint, and the
 * one of closing, would heed it. */
void sqlcipherkit_forget_interrupt(sqlite3 *db);
