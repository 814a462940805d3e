/* The rows that a transaction changes, for change logs. Compiled with the engine (Engine/recorder.h). */
#pragma once

#include "sqlite.h"
#include <stddef.h>

/* Notes the old record of each row of some tables of `main` when it is first changed, and compares it with the row that is there in
 * the end. So it knows nothing of savepoints, and need not: what was rolled back is no change. It tells rows apart as
 * sqlcipherkit_create_session does, by the bytes of their declared keys, and fails where that fails. */
typedef struct sqlcipherkit_recorder sqlcipherkit_recorder;

/* NULL if there is no memory for it. It lives until it is ended, at the latest by the end of the connection. The connection must
 * come from sqlcipherkit_open. */
sqlcipherkit_recorder *sqlcipherkit_start_recorder(sqlite3 *db);
void sqlcipherkit_end_recorder(sqlcipherkit_recorder *recorder);

/* Also records a table, which has the next number, from 0 on. Returns SQLITE_OK or SQLITE_NOMEM. */
int sqlcipherkit_record_table(sqlcipherkit_recorder *recorder, const char *table);

/* Returns whether rows of a table may have changed, or the recording has failed; reading it then returns the error. */
int sqlcipherkit_has_recorded(const sqlcipherkit_recorder *recorder, int table);

/* The part that changes share. `columns` are positions among the columns that are not generated, without those of the key. */
typedef struct {
    /* SQLITE_INSERT, SQLITE_UPDATE or SQLITE_DELETE. */
    int kind;
    int table;
    int column_count;
    const int *columns;
} sqlcipherkit_recorded_form;

/* The form of a change, and where its values and its key end. */
typedef struct {
    size_t form, values_end, key_end;
} sqlcipherkit_recorded_change;

/* The changes, valid until the next call with the recorder. The values are those of the key and of the form's columns, in the form
 * of a change log's entries (ChangeLogWriter); the keys are in that of changelog_row. */
typedef struct {
    const unsigned char *values, *keys;
    const sqlcipherkit_recorded_change *changes;
    size_t count;
    const sqlcipherkit_recorded_form *forms;
    size_t form_count;
} sqlcipherkit_recording;

/* Adds the changes of a table to the recording, deletes and updates before inserts.
 * number: what the keys of the table begin with. is_whole: whether an update has all columns.
 * Returns SQLITE_SCHEMA if the table is gone or has lost a column, SQLITE_CONSTRAINT after a change of a row with NULL in its key,
 * SQLITE_MISMATCH for text that is not well-formed UTF-8. */
int sqlcipherkit_read_recording(sqlcipherkit_recorder *recorder, int table, sqlite3_uint64 number, int is_whole);
sqlcipherkit_recording sqlcipherkit_recording_of(const sqlcipherkit_recorder *recorder);
