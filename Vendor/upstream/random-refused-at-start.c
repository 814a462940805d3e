/* SQLCipher's start is not tried again after the system has refused random bytes.
 *
 * What happens: where a request for random bytes fails in sqlcipher_extra_init, that returns an error, and its cleanup frees
 *   the provider. Every later attempt to open and key a database in this process fails too.
 * What should happen: opening fails, and succeeds once there are random bytes again.
 * Tried with: SQLCipher 4.12.0, 4.18.0 and 4.19.0, with OpenSSL 3. The program replaces RAND_bytes, and tries twice.
 * Without a patch: Sources/CSQLCipher/Engine/start.h
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sqlite3.h"

static int requests, refused;

int RAND_bytes(unsigned char *bytes, int count) {
    if (++requests == refused) return 0;
    return getrandom(bytes, (size_t)count, 0) == count;
}

int main(void) {
    int defects = 0;
    for (refused = 1; refused <= 6; refused++) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            int last = SQLITE_ERROR;
            for (int attempt = 0; attempt < 2; attempt++) {
                sqlite3 *db = NULL;
                last = sqlite3_open("start.db", &db);
                if (last == SQLITE_OK) last = sqlite3_key(db, "key", 3);
                if (last == SQLITE_OK) last = sqlite3_exec(db, "CREATE TABLE IF NOT EXISTS t(x); SELECT * FROM t", 0, 0, 0);
                sqlite3_close(db);
            }
            _exit(last == SQLITE_OK ? 0 : 1);
        }
        int status;
        waitpid(child, &status, 0);
        if (status != 0) printf("request %d refused: %s\n", refused, WIFSIGNALED(status) ? "a crash" : "no second attempt");
        defects += status != 0;
    }
    return defects > 0;
}
