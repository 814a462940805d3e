/* Interrupts that came too late. */
#pragma once

#include "sqlite.h"

/* Forgets an interrupt that came while no statement ran. sqlite3_interrupt() promises that it has no effect, but a checkpoint,
 * including the one at closing, would obey it. */
void sqlcipherkit_forget_interrupt(sqlite3 *db);
