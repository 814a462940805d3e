#ifndef TOOLSTART_H
#define TOOLSTART_H

/* What the program was called with, ended by NULL; NULL where the C library does not tell before main. */
char *_Nullable const *_Nullable toolstart_arguments(void);

#endif
