/* Kills a process just before it changes the file system for the n-th time, without a debugger: the calls of the C library that do
 * so are replaced in the program that this is linked into. */
#pragma once

/* Whether this works on this system. */
int killpoints_supported(void);

/* What counts: what makes, renames or removes a file, and writes too; or only names; or all of that and syncs, and then the call
 * fails once with EIO instead of killing. */
enum { KILLPOINTS_ALL, KILLPOINTS_NAMES, KILLPOINTS_FAIL };

/* Added to what `body` returned if a call of it has failed. */
enum { KILLPOINTS_STRUCK = 64 };

/* Runs `body` in a child process, which kills itself before its n-th call that counts; 0 does nothing to it. Returns what `body`
 * returned, or 128 and the signal that ended the child. The calling process must have one thread. */
int killpoints_run(long number, int how, int (*body)(void *), void *context);

/* Which calls fail in this process from now on, as on a file system without them: 1 renameat2's flags, 2 link. */
void killpoints_refuse(int calls);
