/* Renaming files. */
#pragma once

/* Renames a file atomically, unless the new name is taken (renameat2 on Linux, renamex_np on Apple's systems). Returns 0, or -1
 * with errno: EEXIST if the name is taken; ENOSYS, EINVAL or ENOTSUP if the system or the file system cannot do it. */
int sqlcipherkit_rename_exclusively(const char *from, const char *to);
