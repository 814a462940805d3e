#include "libfuzzer.h"

__attribute__((weak)) int LLVMFuzzerRunDriver(int *argc, char ***argv, libfuzzer_target target);

int libfuzzer_run(int argc, char **argv, libfuzzer_target target) {
    return LLVMFuzzerRunDriver ? LLVMFuzzerRunDriver(&argc, &argv, target) : -1;
}
