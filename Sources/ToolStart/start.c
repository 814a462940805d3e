/* Lets the statically linked tool run where /proc is not mounted, for instance in an empty folder as its root.

   On Linux, Swift's runtime reads two files in /proc. It reads /proc/self/exe before main to find its libraries; without that file
   it ends the program ("Unable to obtain Swift runtime path", runtime/Paths.cpp), unless SWIFT_ROOT names their folder. It reads
   /proc/self/cmdline for CommandLine.arguments, which is empty without it.

   A standard stream that is closed (`>&-`) becomes one that cannot be used: no file that is opened later gets its number. */

#include "ToolStart.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static char *const *arguments;

#if defined(__linux__) && defined(__GLIBC__)
/* glibc passes main's parameters to constructors. This one must run before those of Swift's runtime, which have no priority. */
__attribute__((constructor(101))) static void note_arguments(int count, char **values) {
    if (count > 0) arguments = values;
    /* A static program has no libraries to find. The folder only has to exist. */
    if (access("/proc/self/exe", F_OK) != 0) setenv("SWIFT_ROOT", "/", 0);
}
#endif

__attribute__((constructor)) static void close_gaps(void) {
    /* open(2) returns the lowest free number. Writing to the second and the third fails, and reading from the first. */
    for (int stream = 0; stream < 3; stream++) {
        if (fcntl(stream, F_GETFD) < 0 && open("/dev/null", stream == 0 ? O_WRONLY : O_RDONLY) < 0) return;
    }
}

char *const *toolstart_arguments(void) { return arguments; }
