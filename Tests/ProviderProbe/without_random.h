/* The system's generator refused, as by a sandbox that knows no getrandom. */
#ifndef PROVIDER_PROBE_WITHOUT_RANDOM_H
#define PROVIDER_PROBE_WITHOUT_RANDOM_H

/* 1 if this system can refuse random bytes to a thread: Linux can, with a seccomp filter; not every emulator of it. */
int can_refuse_random(void);

/* Runs `body` on a thread for which getrandom() fails with `error`, and returns what `body` returns. With 0, the call returns 0. */
int without_random(int error, int (*body)(void *argument), void *argument);

#endif
