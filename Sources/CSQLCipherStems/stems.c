#include "include/sqlcipherkit_stems.h"

#include "names.h"

#include "../../Vendor/sqlcipher/snowball/runtime/api.h"

#include <stdlib.h>

#define RULES(LANGUAGE) \
    struct SN_env *sqlcipherkit_stems_##LANGUAGE##_create_env(void); \
    void sqlcipherkit_stems_##LANGUAGE##_close_env(struct SN_env *); \
    int sqlcipherkit_stems_##LANGUAGE##_stem(struct SN_env *);
RULES(danish)
RULES(dutch)
RULES(french)
RULES(german)
RULES(italian)
RULES(norwegian)
RULES(portuguese)
RULES(russian)
RULES(spanish)
RULES(swedish)
#undef RULES

typedef struct {
    struct SN_env *(*create)(void);
    void (*close)(struct SN_env *);
    int (*stem)(struct SN_env *);
} Rules;

#define RULES(LANGUAGE) \
    [sqlcipherkit_stems_##LANGUAGE] = { \
        sqlcipherkit_stems_##LANGUAGE##_create_env, sqlcipherkit_stems_##LANGUAGE##_close_env, sqlcipherkit_stems_##LANGUAGE##_stem}
static const Rules all_rules[sqlcipherkit_stems_languages] = {
    RULES(danish), RULES(dutch), RULES(french), RULES(german), RULES(italian),
    RULES(norwegian), RULES(portuguese), RULES(russian), RULES(spanish), RULES(swedish),
};

struct sqlcipherkit_stems {
    struct SN_env *word;
    int language;
};

sqlcipherkit_stems *sqlcipherkit_stems_open(int language) {
    if (language < 0 || language >= sqlcipherkit_stems_languages) return NULL;
    sqlcipherkit_stems *stems = malloc(sizeof *stems);
    if (stems == NULL) return NULL;
    stems->language = language;
    stems->word = all_rules[language].create();
    if (stems->word == NULL) {
        free(stems);
        return NULL;
    }
    return stems;
}

void sqlcipherkit_stems_close(sqlcipherkit_stems *stems) {
    if (stems == NULL) return;
    all_rules[stems->language].close(stems->word);
    free(stems);
}

/* Whether a text is letters that the rules know, in well-formed UTF-8: Cyrillic, or Latin up to U+024F. */
static int is_word(int language, const unsigned char *bytes, int count) {
    const int is_cyrillic = language == sqlcipherkit_stems_russian;
    for (int at = 0; at < count; at++) {
        if (!is_cyrillic && bytes[at] >= 'a' && bytes[at] <= 'z') continue;
        if (bytes[at] < (is_cyrillic ? 0xd0 : 0xc3) || bytes[at] > (is_cyrillic ? 0xd3 : 0xc9)) return 0;
        if (++at >= count || (bytes[at] & 0xc0) != 0x80) return 0;
    }
    return 1;
}

int sqlcipherkit_stems_find(sqlcipherkit_stems *stems, const unsigned char *word, int count, const unsigned char **stem) {
    *stem = NULL;
    if (count < 3 || count > 120 || !is_word(stems->language, word, count)) return 0;
    if (SN_set_current(stems->word, count, word) < 0) return -1;
    if (all_rules[stems->language].stem(stems->word) < 0) return -1;
    *stem = stems->word->p;
    return stems->word->l;
}
