/* The crypto provider as programs see it: which kernels encrypt this process's pages.
 *
 * The provider is SQLCipher's interface for cryptography. This package's own provider runs AES-256-CBC, HMAC-SHA512 and
 * PBKDF2-HMAC-SHA512 in kernels that are chosen by the CPU's features, and leaves everything else to a library, or to plain C where
 * there is none (Provider/Primitives/library.h).
 */
#pragma once

/* Names of the implementations in use: static strings, never NULL. */
struct sqlcipherkit_provider_info {
    const char *provider;  /* as PRAGMA cipher_provider returns it: "libtomcrypt", "commoncrypto", "portable" or "openssl" */
    const char *version;   /* of that library; "" if it has none, or none before a database is open */
    const char *aes;       /* AES-256-CBC of a page */
    const char *sha512;    /* the HMAC-SHA512 of a page */
    const char *page;      /* encryption and HMAC of a page in one pass, eight pages at once, or "separate" */
    const char *pbkdf2;    /* PBKDF2-HMAC-SHA512 */
    const char *other;     /* SHA-1 and SHA-256, for files of older versions */
    const char *random;    /* salts and initialisation vectors */
};

/* Returns the kernels that are in use now. Chooses them if that has not been done yet. Any thread may call it. */
struct sqlcipherkit_provider_info sqlcipherkit_provider_info(void);
