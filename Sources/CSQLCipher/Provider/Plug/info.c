/* Tells a program about the provider. */
#include "../Kernels/kernels.h"
#include "../Primitives/library.h"
#include "../../include/provider.h"

struct sqlcipherkit_provider_info sqlcipherkit_provider_info(void) {
#if defined(SQLCIPHERKIT_OPENSSL)
    const struct sqlcipherkit_provider_info info = {
        .provider = "openssl",
        .version = "",
        .aes = "OpenSSL",
        .sha512 = "OpenSSL",
        .page = "separate",
        .pbkdf2 = "OpenSSL",
        .other = "OpenSSL",
        .random = "OpenSSL",
    };
#else
    const struct sqlcipherkit_kernels kernels = sqlcipherkit_kernels();
    const struct sqlcipherkit_provider_info info = {
        .provider = SQLCIPHERKIT_LIBRARY_PROVIDER,
        .version = sqlcipherkit_library_version(),
        .aes = kernels.aes->name,
        .sha512 = kernels.sha512->name,
        .page = sqlcipherkit_kernels_have_many(kernels)   ? "one pass, or eight at once"
                : sqlcipherkit_kernels_can_stitch(kernels) ? "one pass"
                                                          : "separate",
        .pbkdf2 = kernels.sha512->iterate_name,
        .other = SQLCIPHERKIT_LIBRARY_NAME,
        .random = "the system's generator",
    };
#endif
    return info;
}
