#ifndef TOOLSTART_SERIES_H
#define TOOLSTART_SERIES_H

struct sqlite3;

/* Gives a connection the table generate_series(START, STOP, STEP), as SQLite's own shell has it
 * (https://sqlite.org/series.html). Returns an SQLite result code. */
int toolstart_add_series(struct sqlite3 *_Nonnull db);

#endif
