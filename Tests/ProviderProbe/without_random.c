/* See without_random.h. */
#define _GNU_SOURCE
#include "without_random.h"

#ifdef __linux__

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

struct call {
    int error;
    int (*body)(void *argument);
    void *argument;
    int result;
};

/* A filter is its thread's until the thread ends (seccomp(2)). */
static int refuse(int error) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrandom, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void *run(void *argument) {
    struct call *call = argument;
    call->result = refuse(call->error) ? call->body(call->argument) : -1;
    return NULL;
}

int without_random(int error, int (*body)(void *argument), void *argument) {
    struct call call = {error, body, argument, -1};
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, &call) == 0) {
        pthread_join(thread, NULL);
    }
    return call.result;
}

static int nothing(void *argument) {
    (void)argument;
    return 0;
}

int can_refuse_random(void) {
    return without_random(EPERM, nothing, NULL) == 0;
}

#else

int can_refuse_random(void) {
    return 0;
}

int without_random(int error, int (*body)(void *argument), void *argument) {
    (void)error;
    (void)body;
    (void)argument;
    return -1;
}

#endif
