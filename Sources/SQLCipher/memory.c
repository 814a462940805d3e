/* The function in place of SQLCipher's own (Vendor/patches/03-memory.patch), which writes byte by byte through a volatile pointer.
 * System/secure.c has it for the other engine. */
#include <stddef.h>
#include <string.h>

void *sqlcipher_memset(void *bytes, unsigned char value, unsigned long long size);
void *sqlcipher_memset(void *bytes, unsigned char value, unsigned long long size) {
    memset(bytes, value, (size_t)size);
    __asm__ volatile("" : : "r"(bytes) : "memory");
    return bytes;
}
