#ifndef TOOLSTART_H
#define TOOLSTART_H

/* The program's arguments, ended by NULL; NULL if the C library does not pass them to constructors. */
char *_Nullable const *_Nullable toolstart_arguments(void);

#endif
