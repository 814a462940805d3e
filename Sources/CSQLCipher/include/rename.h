/* Names of files. */
#pragma once

/* Gives a file another name in one step, unless that name is taken (renameat2 of Linux, renamex_np of Apple's systems). Returns 0,
 * or -1 with errno: EEXIST for a name that is taken; ENOSYS, EINVAL or ENOTSUP where the system or the file system cannot do it. */
int sqlcipherkit_rename_exclusively(const char *from, const char *to);
