/* The key of an open database. Only engine.c includes this, after the amalgamation. */
#include "../include/keys.h"
#include "../include/wipe.h"

int sqlcipherkit_copy_key(sqlite3 *db, const char *schema, unsigned char *key) {
    Btree *btree = sqlcipherkit_btree(db, schema);
    if (btree == NULL) return SQLITE_MISUSE;
    sqlite3_mutex_enter(db->mutex);
    int rc = SQLITE_NOTFOUND;
    codec_ctx *codec = sqlcipherkit_codec_of(btree);
    if (codec != NULL && codec->key_sz == 32 && codec->kdf_salt_sz == 16) {
        /* A database in memory may not have used its key yet. */
        rc = sqlcipherkit_ensure_key(codec);
        if (rc == SQLITE_OK) {
            /* The key is masked in memory. */
            sqlcipher_shield(codec->read_ctx->key, codec->key_sz);
            memcpy(key, codec->read_ctx->key, 32);
            sqlcipher_shield(codec->read_ctx->key, codec->key_sz);
            memcpy(key + 32, codec->kdf_salt, 16);
        }
    }
    sqlite3_mutex_leave(db->mutex);
    sqlcipherkit_wipe_traces();
    return rc;
}

/* The settings of an open database, without memory security, which is a setting of the process. */
static sqlcipherkit_cipher_settings sqlcipherkit_settings_of(const codec_ctx *codec) {
    return (sqlcipherkit_cipher_settings){
        .page_size = codec->page_sz,
        .kdf_iterations = codec->kdf_iter,
        .kdf_algorithm = codec->kdf_algorithm,
        .hmac_algorithm = codec->hmac_algorithm,
        .uses_hmac = (codec->flags & CIPHER_FLAG_HMAC) != 0,
        .plaintext_header_size = codec->plaintext_header_sz};
}

#ifdef CIPHER_VERSION_QUALIFIER
#define SQLCIPHERKIT_VERSION_QUALIFIER " " CIPHER_XSTR(CIPHER_VERSION_QUALIFIER)
#else
#define SQLCIPHERKIT_VERSION_QUALIFIER ""
#endif

int sqlcipherkit_read_cipher(sqlite3 *db, const char *schema, sqlcipherkit_cipher_info *cipher) {
    codec_ctx *codec = sqlcipherkit_codec_of(sqlcipherkit_btree(db, schema));
    if (codec == NULL || codec->kdf_salt_sz != 16) return SQLITE_NOTFOUND;
    sqlite3_mutex_enter(db->mutex);
    /* A database in memory may not have used its key yet, and takes its salt from the key. */
    int rc = sqlcipherkit_ensure_key(codec);
    if (rc == SQLITE_OK) {
        cipher->settings = sqlcipherkit_settings_of(codec);
        cipher->settings.uses_memory_security = sqlcipher_mem_security_on && sqlcipher_mem_executed;
        memcpy(cipher->salt, codec->kdf_salt, 16);
        cipher->version = CIPHER_XSTR(CIPHER_VERSION_NUMBER) SQLCIPHERKIT_VERSION_QUALIFIER " " CIPHER_XSTR(CIPHER_VERSION_BUILD);
        cipher->name = codec->provider->get_cipher(codec->provider_ctx);
        cipher->provider = codec->provider->get_provider_name(codec->provider_ctx);
        cipher->provider_version = codec->provider->get_provider_version(codec->provider_ctx);
    }
    sqlite3_mutex_leave(db->mutex);
    return rc;
}

int sqlcipherkit_is_key_proven(sqlite3 *db, const char *schema) {
    codec_ctx *codec = sqlcipherkit_codec_of(sqlcipherkit_btree(db, schema));
    return codec != NULL && (codec->flags & CIPHER_FLAG_HMAC) != 0 &&
           (codec->flags & CIPHER_FLAG_KEY_USED) != 0;
}

int sqlcipherkit_derived_key(sqlite3 *db, const char *schema, void *text, int capacity, int *count) {
    codec_ctx *codec = sqlcipherkit_codec_of(sqlcipherkit_btree(db, schema));
    if (codec == NULL || codec->read_ctx->derive_key) return SQLITE_NOTFOUND;
    char *copy = NULL;
    int size = 0;
    int rc = sqlcipher_cipher_ctx_get_keyspec(codec, codec->read_ctx, &copy, &size);
    if (rc != SQLITE_OK) return rc;
    if (size > capacity) rc = SQLITE_TOOBIG;
    else memcpy(text, copy, *count = size);
    /* Wipes the copy. */
    sqlcipher_free(copy, size);
    sqlcipherkit_wipe_traces();
    return rc;
}
