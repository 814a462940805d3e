/* PRAGMA integrity_check calls an FTS5 index damaged that another connection has written to.
 *
 * What happens: a connection that has used an index keeps its structure record. PRAGMA integrity_check compares that with the
 *   index as it is by then, without looking whether it is still current, and reports a malformed inverted index.
 * What should happen: "ok".
 * Tried with: SQLite 3.51.1, 3.53.4 and 3.54.0.
 * Patch: 13-full-text.patch
 */
#include <stdio.h>
#include <string.h>

#include "sqlite3.h"

static int is_ok(void *ok, int count, char **values, char **names) {
    *(int *)ok = strcmp(values[0], "ok") == 0;
    (void)count, (void)names;
    return 0;
}

int main(void) {
    sqlite3 *writer, *reader;
    int ok = 1, round = 0;
    sqlite3_open("fts5.db", &writer);
    sqlite3_open("fts5.db", &reader);
    sqlite3_exec(writer, "CREATE VIRTUAL TABLE words USING fts5(a)", 0, 0, 0);
    for (; round < 20 && ok; round++) {
        sqlite3_exec(reader, "SELECT count(*) FROM words('common')", 0, 0, 0);
        sqlite3_exec(writer, "INSERT INTO words VALUES ('common words')", 0, 0, 0);
        sqlite3_exec(reader, "PRAGMA integrity_check", is_ok, &ok, 0);
    }
    printf("after %d rounds: %s\n", round, ok ? "ok" : "damaged");
    return !ok;
}
