/* SQL text, token by token. Only engine.c includes this, after the amalgamation. */
#include "../include/tokens.h"

/* The first byte of a name or a keyword: a letter, an underscore or a byte beyond ASCII. */
static int sqlcipherkit_begins_word(unsigned char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_' || byte >= 0x80;
}

long long sqlcipherkit_token(const char *text, int *kind) {
    int type = TK_SPACE;
    const long long count = *text == 0 ? 0 : sqlite3GetToken((const unsigned char *)text, &type);
    if (type == TK_SPACE) {
        *kind = SQLCIPHERKIT_TOKEN_BLANK;
        return count;
    }
    if (type == TK_COMMENT) {
        const int is_open = *text == '/' && (count < 4 || text[count - 2] != '*' || text[count - 1] != '/');
        *kind = is_open ? SQLCIPHERKIT_TOKEN_UNREADABLE : SQLCIPHERKIT_TOKEN_COMMENT;
        return count;
    }
    switch (*text) {
    case ';': *kind = SQLCIPHERKIT_TOKEN_SEMICOLON; break;
    case '(': *kind = SQLCIPHERKIT_TOKEN_OPENING; break;
    case ')': *kind = SQLCIPHERKIT_TOKEN_CLOSING; break;
    case '\'':
    case '"':
    case '`':
    case '[': *kind = SQLCIPHERKIT_TOKEN_QUOTED; break;
    default:
        /* x'00' is a blob. */
        *kind = sqlcipherkit_begins_word((unsigned char)*text) && (count < 2 || text[1] != '\'') ? SQLCIPHERKIT_TOKEN_WORD
                                                                                               : SQLCIPHERKIT_TOKEN_OTHER;
    }
    if (type == TK_ILLEGAL) *kind = SQLCIPHERKIT_TOKEN_UNREADABLE;
    return count;
}

/* Goes to the next token of a text that is no space and no comment. Returns its kind, and its length, which is 0 at the end. */
static int sqlcipherkit_next_token(const char **text, long long *count) {
    int kind = SQLCIPHERKIT_TOKEN_BLANK;
    *text += *count;
    while ((*count = sqlcipherkit_token(*text, &kind)) > 0
           && (kind == SQLCIPHERKIT_TOKEN_BLANK || kind == SQLCIPHERKIT_TOKEN_COMMENT)) *text += *count;
    return kind;
}

static int sqlcipherkit_is_word(const char *text, long long count, const char *word) {
    return count == (long long)strlen(word) && sqlite3_strnicmp(text, word, (int)count) == 0;
}
