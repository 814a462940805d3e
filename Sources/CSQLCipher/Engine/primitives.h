/* Random bytes and key derivation, from the provider. Only engine.c includes this, after the amalgamation. */
#include "../include/primitives.h"
#include "../include/wipe.h"

/* The provider with a separate context, as there may be no open connection yet. */
static int sqlcipherkit_with_provider(sqlcipher_provider **provider, void **context) {
    int rc = sqlcipherkit_start();
    if (rc != SQLITE_OK) return rc;
    *provider = default_provider;
    if (*provider == NULL) return SQLITE_ERROR;
    *context = NULL;
    return (*provider)->ctx_init(context);
}

int sqlcipherkit_derive_key(int algorithm, const void *passphrase, int passphrase_count, const void *salt, int salt_count,
                            int iterations, void *key, int key_count) {
    sqlcipher_provider *provider;
    void *context;
    int rc = sqlcipherkit_with_provider(&provider, &context);
    if (rc != SQLITE_OK) return rc;
    rc = provider->kdf(context, algorithm, passphrase, passphrase_count, salt, salt_count, iterations, key_count, key);
    provider->ctx_free(&context);
    sqlcipherkit_wipe_traces();
    return rc;
}

int sqlcipherkit_random(void *bytes, int count) {
    sqlcipher_provider *provider;
    void *context;
    int rc = sqlcipherkit_with_provider(&provider, &context);
    if (rc != SQLITE_OK) return rc;
    rc = provider->random(context, bytes, count);
    provider->ctx_free(&context);
    return rc;
}
