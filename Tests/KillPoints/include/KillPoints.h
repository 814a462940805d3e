/* Kills a process just before it changes the file system for the n-th time, without a debugger: the calls of the C library that do
 * so are replaced in the program that this is linked into. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* 1 if kill points work on this system. */
int killpoints_supported(void);

/* The calls that count: those that make, rename or remove a file, and writes; or these and syncs, and then the call fails once with
 * EIO instead of killing; or reads, which fail in the same way; or writes, of which all from that one on fail with ENOSPC: where
 * changes are logged, those to the files of the folder. */
enum { KILLPOINTS_ALL, KILLPOINTS_FAIL, KILLPOINTS_READ, KILLPOINTS_FULL };

/* Added to what `body` returned if a call of it has failed. */
enum { KILLPOINTS_STRUCK = 64 };

/* Runs `body` in a child process, which kills itself before its n-th call that counts; 0 does nothing to it. Returns what `body`
 * returned, or 128 and the signal that ended the child. The calling process must have one thread. */
int killpoints_run(long number, int how, int (*body)(void *), void *context);

/* Which calls fail in this process from now on, as on a file system without them: 1 renameat2's flags, 2 link. */
void killpoints_refuse(int calls);

/* The parts of a log of changes: an entry, its names and its bytes. */
enum {
    KILLPOINTS_CREATE, KILLPOINTS_REMOVE, KILLPOINTS_MOVE, KILLPOINTS_LINK, KILLPOINTS_WRITE, KILLPOINTS_TRUNCATE, KILLPOINTS_SYNC,
    KILLPOINTS_SYNC_FOLDER, KILLPOINTS_MARK,
    /* The number of a file now belongs to one outside the folder. */
    KILLPOINTS_FORGET,
};

struct killpoints_entry {
    uint32_t kind;
    /* The lengths of the names, and of the bytes after them. */
    uint32_t first, second, count;
    /* The inode. */
    uint64_t file;
    /* Where bytes were written, or the new size. */
    uint64_t offset;
};

/* Logs each change to the files of a folder that this process makes from now on. Folders in it are left out. Returns 0 on success. */
int killpoints_record(const char *path, const char *log);

/* Notes in the log that something has been promised. */
void killpoints_mark(void);

/* Traces from now on which bytes of a file this process reads before it overwrites them, by whichever name or descriptor. Returns the
 * file's number, or -1. */
int killpoints_trace(const char *path);

/* The next range of bytes that were read, from `to` of the last one on, or 0 at first. Returns 0 if there is no more. */
int killpoints_next_read(int number, int64_t *from, int64_t *to);

/* Ends the trace of all files. */
void killpoints_end_trace(void);

/* The end of the last commit in a write-ahead log, by the sums of its frames: the recovery takes nothing after it, whatever is there
 * (https://sqlite.org/fileformat2.html#the_write_ahead_log). The end of the header without a commit, 0 without a header. */
size_t killpoints_log_end(const unsigned char *log, size_t size);
