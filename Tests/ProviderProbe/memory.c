/* No passphrase and no key in the memory of the process, neither while a connection is idle nor after it is closed.
 *
 * The sought bytes are never in this process in clear: a forked child derives the keys and sends them masked, and the
 * search compares masked bytes. Linux only, as it reads /proc/self/mem.
 */
#include "database.h"
#include "probe.h"
#include "with_kernels.h"


#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { cover = 0xa7, needle_size = 16, chunk_size = 1 << 20 };

/* Sixteen bytes are enough to recognise a secret by, and find halves of it as well. */
struct needles {
    uint8_t passphrase[needle_size];
    uint8_t aes_key[2][needle_size];
    uint8_t hmac_key[2][needle_size];
    uint8_t round_key[2][needle_size]; /* the last of each schedule's inner ones */
    uint8_t pads[2][needle_size];      /* of HMAC-SHA512 */
};
enum { needle_count = sizeof(struct needles) / needle_size };
static const char *const needle_names[needle_count] = {
    "passphrase",        "AES key",           "AES key, second half", "HMAC key", "HMAC key, second half",
    "encryption round key", "decryption round key", "inner pad",           "outer pad",
};

/* The passphrase exists only where this writes it. */
enum { passphrase_size = 40 };
static void write_passphrase(uint8_t *out) {
    uint64_t seed = 0x5eed ^ (uint64_t)getpid() << 20;
    for (int i = 0; i < passphrase_size; i++) {
        out[i] = (uint8_t)('!' + next_number(&seed) % 90);
    }
}

static void wipe(void *bytes, size_t size) {
    memset(bytes, 0, size);
    __asm__ volatile("" : : "r"(bytes) : "memory");
}

/* Runs in the child, whose memory is not searched. */
static void derive(const uint8_t *passphrase, const uint8_t salt[16], uint32_t iterations, struct needles *needles) {
    uint8_t key[32], hmac_key[32], hmac_salt[16];
    struct sqlcipherkit_aes_schedule schedule;
    struct sqlcipherkit_sha512_pads pads;
    struct sqlcipherkit_kernels kernels = sqlcipherkit_kernels();
    for (int i = 0; i < 16; i++) {
        hmac_salt[i] = salt[i] ^ 0x3a; /* SQLCipher's mask for the HMAC key's salt, which takes 2 iterations */
    }
    probe_pbkdf2(0, SQLCIPHERKIT_SHA512, passphrase, passphrase_size, salt, 16, iterations, key, 32);
    probe_pbkdf2(0, SQLCIPHERKIT_SHA512, key, 32, hmac_salt, 16, 2, hmac_key, 32);
    kernels.aes->expand(key, &schedule);
    sqlcipherkit_hmac_sha512_pads(kernels.sha512, hmac_key, 32, &pads);
    memcpy(needles->passphrase, passphrase, needle_size);
    memcpy(needles->aes_key, key, 32);
    memcpy(needles->hmac_key, hmac_key, 32);
    memcpy(needles->round_key[0], schedule.encrypt + 16 * 13, needle_size);
    memcpy(needles->round_key[1], schedule.decrypt + 16, needle_size);
    memcpy(needles->pads[0], pads.inner, needle_size);
    memcpy(needles->pads[1], pads.outer, needle_size);
    for (size_t i = 0; i < sizeof *needles; i++) {
        ((uint8_t *)needles)[i] ^= cover;
    }
}

/* Fills `needles`, masked; 0 when it worked. */
static int ask_child(const uint8_t salt[16], uint32_t iterations, struct needles *needles) {
    int ends[2];
    if (pipe(ends) != 0) {
        return -1;
    }
    pid_t child = fork();
    if (child == 0) {
        struct needles found;
        uint8_t passphrase[passphrase_size];
        uint64_t seed = 0x5eed ^ (uint64_t)getppid() << 20;
        for (int i = 0; i < passphrase_size; i++) {
            passphrase[i] = (uint8_t)('!' + next_number(&seed) % 90);
        }
        derive(passphrase, salt, iterations, &found);
        _exit(write(ends[1], &found, sizeof found) == (ssize_t)sizeof found ? 0 : 1);
    }
    close(ends[1]);
    int failed = child < 0 || read(ends[0], needles, sizeof *needles) != (ssize_t)sizeof *needles;
    close(ends[0]);
    waitpid(child, NULL, 0);
    return failed ? -1 : 0;
}

static int matches(const uint8_t *bytes, const uint8_t *masked) {
    for (int i = 0; i < needle_size; i++) {
        if ((uint8_t)(bytes[i] ^ cover) != masked[i]) {
            return 0;
        }
    }
    return 1;
}

/* Searches every readable and writable region but the search's own buffer. Returns how often any needle was found. */
static int search(const struct needles *needles, uint8_t *buffer, const char *when) {
    const uint8_t *all = (const uint8_t *)needles;
    int memory = open("/proc/self/mem", O_RDONLY);
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    int found = 0;
    unsigned long searched = 0;
    while (maps != NULL && memory >= 0 && fgets(line, sizeof line, maps) != NULL) {
        unsigned long from, to;
        char access[5], name[256] = "";
        if (sscanf(line, "%lx-%lx %4s %*s %*s %*s %255s", &from, &to, access, name) < 3 || access[0] != 'r' ||
            access[1] != 'w' || from == (unsigned long)(uintptr_t)buffer) {
            continue;
        }
        for (unsigned long at = from; at < to; at += chunk_size - needle_size) {
            size_t wanted = to - at < chunk_size ? to - at : chunk_size;
            ssize_t size = pread(memory, buffer, wanted, (off_t)at);
            for (ssize_t i = 0; i + needle_size <= size; i++) {
                for (int n = 0; n < needle_count; n++) {
                    if (matches(buffer + i, all + n * needle_size)) {
                        found++;
                        printf("%s: %s at %#lx in %s\n", when, needle_names[n], at + (unsigned long)i,
                               name[0] == 0 ? "anonymous memory" : name);
                    }
                }
            }
            searched += (unsigned long)(size > 0 ? size : 0);
        }
    }
    if (maps != NULL) {
        fclose(maps);
    }
    close(memory);
    if (searched < 100000) {
        printf("%s: only %lu bytes could be searched\n", when, searched);
        return -1;
    }
    return found;
}

/* Opens the file anew with the passphrase, which lives in this function's frame only while it is handed over. */
static sqlite3 *open_with_passphrase(const char *path) {
    uint8_t passphrase[passphrase_size];
    write_passphrase(passphrase);
    sqlite3 *db = open_database(path, passphrase, passphrase_size, "PRAGMA kdf_iter = 1000");
    wipe(passphrase, sizeof passphrase);
    return db;
}

int run_memory(const char *folder) {
    const char *path = path_in(folder, "memory.db");
    struct needles needles;
    uint8_t salt[16];
    int wrong = 0;
    /* A mapping with a neighbour of other rights, so that it is a region of its own in the list. */
    uint8_t *pages = mmap(NULL, chunk_size + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint8_t *buffer = pages + 4096;
    mprotect(buffer, chunk_size, PROT_READ | PROT_WRITE);

    sqlite3 *db = open_with_passphrase(path);
    wrong |= db == NULL || run_sql(db, "PRAGMA journal_mode = WAL; CREATE TABLE t(x)") != SQLITE_OK;
    wrong |= run_sql(db, "WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 2000) "
                         "INSERT INTO t SELECT hex(zeroblob(300)) FROM n") != SQLITE_OK;
    wrong |= run_sql(db, "PRAGMA wal_checkpoint(TRUNCATE)") != SQLITE_OK;
    wrong |= read_file(path, 0, salt, sizeof salt) != 0 || ask_child(salt, 1000, &needles) != 0;
    wrong |= number_of(db, "SELECT count(*) FROM t WHERE x LIKE '%1%'") < 0;
    wrong |= search(&needles, buffer, "while the connection is idle") != 0;
    sqlite3_close(db);
    wrong |= search(&needles, buffer, "after the connection is closed") != 0;

    /* After a key change, neither key. */
    db = open_with_passphrase(path);
    wrong |= db == NULL || sqlite3_rekey_v2(db, "main", "another", 7) != SQLITE_OK;
    sqlite3_close(db);
    wrong |= search(&needles, buffer, "after a key change") != 0;

    /* The search itself finds what is there. */
    uint8_t *copy = malloc(needle_size);
    for (int i = 0; i < needle_size; i++) {
        copy[i] = needles.hmac_key[0][i] ^ cover;
    }
    __asm__ volatile("" : : "r"(copy) : "memory"); /* nothing else reads it, and it must be there */
    int found = search(&needles, buffer, "control, to be found once");
    wrong |= found < 1;
    wipe(copy, needle_size);
    free(copy);
    sqlite3_shutdown();
    munmap(pages, chunk_size + 8192);
    printf("memory: %s\n", wrong ? "WRONG" : "no secret left");
    return wrong;
}
