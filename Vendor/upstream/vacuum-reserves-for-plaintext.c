/* VACUUM of a plaintext database beside an encrypted one gives it the reserved bytes of that one.
 *
 * What happens: VACUUM attaches its copy without a key, so the copy gets the main database's key and its reserve. The
 *   plaintext database that is vacuumed has 80 reserved bytes in each page from then on.
 * What should happen: a database keeps its layout: byte 20 of the header is what it was.
 * Tried with: SQLCipher 4.12.0, 4.18.0 and 4.19.0.
 * Patch: 09-vacuum.patch
 */
#include <stdio.h>

#include "sqlite3.h"

static int reserved(void) {
    FILE *file = fopen("plain.db", "rb");
    fseek(file, 20, SEEK_SET);
    int found = fgetc(file);
    fclose(file);
    return found;
}

int main(void) {
    sqlite3 *db;
    sqlite3_open("secret.db", &db);
    sqlite3_key(db, "key", 3);
    sqlite3_exec(db, "CREATE TABLE t(x); ATTACH 'plain.db' AS plain KEY ''; CREATE TABLE plain.t(x)", 0, 0, 0);
    int before = reserved();
    int rc = sqlite3_exec(db, "VACUUM plain", 0, 0, 0), after = reserved();
    printf("VACUUM: %d; reserved bytes before: %d, after: %d\n", rc, before, after);
    return before != after;
}
