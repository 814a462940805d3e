/* SQL text, token by token. Compiled with the engine (Engine/tokens.h). */
#pragma once

/* The kinds of tokens that matter to code that reads SQL without compiling it. */
#define SQLCIPHERKIT_TOKEN_BLANK 0      /* white space */
#define SQLCIPHERKIT_TOKEN_WORD 1       /* a keyword or a name without quotes */
#define SQLCIPHERKIT_TOKEN_QUOTED 2     /* a name or a string in quotes or brackets */
#define SQLCIPHERKIT_TOKEN_SEMICOLON 3
#define SQLCIPHERKIT_TOKEN_OPENING 4    /* ( */
#define SQLCIPHERKIT_TOKEN_CLOSING 5    /* ) */
#define SQLCIPHERKIT_TOKEN_OTHER 6      /* a number, a blob, an operator, a parameter */
#define SQLCIPHERKIT_TOKEN_UNREADABLE 7 /* not a token of SQL; a quote or a comment without its end */
#define SQLCIPHERKIT_TOKEN_COMMENT 8

/* Reads the token at the start of `text`, which ends with a NUL, by the rules of the engine's own parser. Returns its length in
 * bytes, 0 at the end of the text; *kind is one of the above. */
long long sqlcipherkit_token(const char *text, int *kind);
