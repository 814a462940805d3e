#ifndef LIBFUZZER_H
#define LIBFUZZER_H

#include <stddef.h>
#include <stdint.h>

typedef int (*libfuzzer_target)(const uint8_t *data, size_t size);

/* Runs libFuzzer (https://llvm.org/docs/LibFuzzer.html) with its own arguments. Returns -1 in a program without it: only
** scripts/workshop/fuzz links it. */
int libfuzzer_run(int argc, char **argv, libfuzzer_target target);

#endif
