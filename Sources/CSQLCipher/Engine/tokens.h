/* SQL text, token by token. Only engine.c includes this, after the amalgamation. */
#include "../include/tokens.h"

long long sqlcipherkit_token(const char *text, int *kind) {
    int type = TK_SPACE;
    long long count = *text == 0 ? 0 : sqlite3GetToken((const unsigned char *)text, &type);
    switch (type) {
    case TK_SPACE: *kind = SQLCIPHERKIT_TOKEN_BLANK; break;
    case TK_COMMENT: {
        int is_open = *text == '/' && (count < 4 || text[count - 2] != '*' || text[count - 1] != '/');
        *kind = is_open ? SQLCIPHERKIT_TOKEN_UNREADABLE : SQLCIPHERKIT_TOKEN_COMMENT;
        break;
    }
    case TK_SEMI: *kind = SQLCIPHERKIT_TOKEN_SEMICOLON; break;
    case TK_LP: *kind = SQLCIPHERKIT_TOKEN_OPENING; break;
    case TK_RP: *kind = SQLCIPHERKIT_TOKEN_CLOSING; break;
    case TK_STRING: *kind = SQLCIPHERKIT_TOKEN_QUOTED; break;
    case TK_ILLEGAL: *kind = SQLCIPHERKIT_TOKEN_UNREADABLE; break;
    case TK_BLOB:
    case TK_VARIABLE: *kind = SQLCIPHERKIT_TOKEN_OTHER; break;
    default:
        /* A name or a keyword begins with a letter, an underscore or a byte above ASCII. All of these are IdChar, and so are
         * digits, which begin numbers. */
        if (*text == '"' || *text == '`' || *text == '[') *kind = SQLCIPHERKIT_TOKEN_QUOTED;
        else *kind = IdChar(*text) && !sqlite3Isdigit(*text) ? SQLCIPHERKIT_TOKEN_WORD : SQLCIPHERKIT_TOKEN_OTHER;
    }
    return count;
}
