/* FTS5's snippet(), in time linear in the length of the text. engine.c includes this after the amalgamation; nothing else does.
 *
 * It chooses the same part of the text as FTS5's own. The candidates begin with an occurrence of a phrase of the query, or at the
 * beginning of the sentence with one. The first candidate with the highest score wins: 1,000 for each phrase, 1 for each further
 * occurrence of it, and 100 for the beginning of a sentence (120 for that of the column). FTS5 goes through all occurrences for
 * each candidate; here two windows slide over them.
 */

/* A window of `words` words in a column, with the occurrences from `low` to before `high`. There are `last` occurrences in all. */
typedef struct SnippetWindow {
    const Fts5ExtensionApi *api;
    Fts5Context *context;
    int column, words, last;
    int low, high, phrases, total;
    /* The number of occurrences of each phrase in the window. */
    int *counts;
    int rc;
} SnippetWindow;

/* The phrase of an occurrence and, as the result, its position; -1 for an occurrence in another column or an error. */
static int snippet_place(SnippetWindow *window, int occurrence, int *phrase) {
    int column = 0, place = 0;
    if (window->rc == SQLITE_OK) window->rc = window->api->xInst(window->context, occurrence, phrase, &column, &place);
    return window->rc == SQLITE_OK && column == window->column ? place : -1;
}

/* Moves the window to a position, which never decreases, and returns its score. */
static int snippet_move(SnippetWindow *window, sqlite3_int64 place) {
    int phrase = 0, at;
    while (window->high < window->last && (at = snippet_place(window, window->high, &phrase)) >= 0 && at < place + window->words) {
        if (window->counts[phrase]++ == 0) window->phrases++;
        window->total++;
        window->high++;
    }
    while (window->low < window->high && (at = snippet_place(window, window->low, &phrase)) < place && window->rc == SQLITE_OK) {
        if (--window->counts[phrase] == 0) window->phrases--;
        window->total--;
        window->low++;
    }
    return window->phrases * 999 + window->total;
}

/* The first word of a snippet that has the window's occurrences in its middle. */
static int snippet_middle(SnippetWindow *window, int size) {
    int phrase = 0;
    if (window->low == window->high) return 0;
    const int first = snippet_place(window, window->low, &phrase);
    const int last = snippet_place(window, window->high - 1, &phrase) + window->api->xPhraseSize(window->context, phrase);
    sqlite3_int64 start = first - (window->words - (last - first)) / 2;
    if (start + window->words > size) start = size - window->words;
    return start < 0 ? 0 : (int)start;
}

typedef struct Snippet { int score, column, start, size; } Snippet;

/* Looks for a better snippet in a column, starting with the occurrence `*next`. */
static int snippet_look(const Fts5ExtensionApi *api, Fts5Context *context, int column, int words, int occurrences, int *next,
                        Fts5SFinder *sentences, int *counts, Snippet *best) {
    const char *locale = NULL;
    int locale_size = 0, text_size = 0, size = 0, phrase = 0, sentence = 0;
    const int phrases = api->xPhraseCount(context);
    sentences->iPos = sentences->nFirst = 0;
    int rc = api->xColumnText(context, column, &sentences->zDoc, &text_size);
    if (rc == SQLITE_OK) rc = api->xColumnLocale(context, column, &locale, &locale_size);
    if (rc == SQLITE_OK) {
        rc = api->xTokenize_v2(context, sentences->zDoc, text_size, locale, locale_size, sentences, fts5SentenceFinderCb);
    }
    if (rc == SQLITE_OK) rc = api->xColumnSize(context, column, &size);
    if (rc != SQLITE_OK) return rc;
    memset(counts, 0, 2 * (size_t)phrases * sizeof *counts);
    SnippetWindow plain = {api, context, column, words, occurrences, 0, 0, 0, 0, counts, SQLITE_OK};
    while (*next < occurrences && snippet_place(&plain, *next, &phrase) < 0 && plain.rc == SQLITE_OK) {
        /* Occurrences are in the order of columns: skip those of earlier columns, and stop at those of later ones. */
        int of = 0, place = 0;
        if ((plain.rc = api->xInst(context, *next, &phrase, &of, &place)) != SQLITE_OK || of > column) break;
        (*next)++;
    }
    plain.low = plain.high = *next;
    SnippetWindow whole = plain;
    whole.counts = counts + phrases;
    for (; *next < occurrences && plain.rc == SQLITE_OK && whole.rc == SQLITE_OK; (*next)++) {
        const int place = snippet_place(&plain, *next, &phrase);
        if (place < 0) break;
        if (place > size) return FTS5_CORRUPT;
        const int score = snippet_move(&plain, place);
        if (score > best->score) *best = (Snippet){score, column, snippet_middle(&plain, size), size};
        if (sentences->nFirst == 0 || size <= words) continue;
        while (sentence + 1 < sentences->nFirst && sentences->aFirst[sentence + 1] <= place) sentence++;
        const int start = sentences->aFirst[sentence];
        if (start >= place) continue;
        const int whole_score = snippet_move(&whole, start) + (start == 0 ? 120 : 100);
        if (whole_score > best->score) *best = (Snippet){whole_score, column, start, size};
    }
    return plain.rc != SQLITE_OK ? plain.rc : whole.rc;
}

/* Writes the words from best->start on, and marks the phrases in them. */
static int snippet_write(const Fts5ExtensionApi *api, Fts5Context *context, int words, const char *ellipsis, const Snippet *best,
                         HighlightContext *text) {
    const char *locale = NULL;
    int locale_size = 0, size = best->size;
    int rc = api->xColumnText(context, best->column, &text->zIn, &text->nIn);
    if (rc == SQLITE_OK && size == 0) rc = api->xColumnSize(context, best->column, &size);
    if (rc != SQLITE_OK || text->zIn == NULL) return rc;
    rc = fts5CInstIterInit(api, context, best->column, &text->iter);
    text->iRangeStart = best->start;
    text->iRangeEnd = best->start + words - 1;
    if (best->start > 0) fts5HighlightAppend(&rc, text, ellipsis, -1);
    while (rc == SQLITE_OK && text->iter.iStart >= 0 && text->iter.iStart < best->start) rc = fts5CInstIterNext(&text->iter);
    if (rc == SQLITE_OK) rc = api->xColumnLocale(context, best->column, &locale, &locale_size);
    if (rc == SQLITE_OK) rc = api->xTokenize_v2(context, text->zIn, text->nIn, locale, locale_size, text, fts5HighlightCb);
    if (text->bOpen) fts5HighlightAppend(&rc, text, text->zClose, -1);
    if (text->iRangeEnd >= size - 1) {
        fts5HighlightAppend(&rc, text, text->zIn + text->iOff, text->nIn - text->iOff);
    } else {
        fts5HighlightAppend(&rc, text, ellipsis, -1);
    }
    return rc;
}

static void fts5SnippetFunction(const Fts5ExtensionApi *api, Fts5Context *context, sqlite3_context *result, int count,
                                sqlite3_value **values) {
    if (count != 5) {
        sqlite3_result_error(result, "wrong number of arguments to function snippet()", -1);
        return;
    }
    const int wanted = sqlite3_value_int(values[0]), columns = api->xColumnCount(context), phrases = api->xPhraseCount(context);
    const sqlite3_int64 length = sqlite3_value_int64(values[4]);
    const int words = length < 0 ? 0 : length > 64 ? 64 : (int)length;
    int occurrences = 0, next = 0;
    Fts5SFinder sentences;
    HighlightContext text;
    memset(&sentences, 0, sizeof sentences);
    memset(&text, 0, sizeof text);
    text.zOpen = fts5ValueToText(values[1]);
    text.zClose = fts5ValueToText(values[2]);
    Snippet best = {0, wanted >= 0 ? wanted : 0, 0, 0};
    int *counts = sqlite3_malloc64(2 * sizeof *counts * (sqlite3_uint64)(phrases > 0 ? phrases : 1));
    int rc = counts == NULL ? SQLITE_NOMEM : api->xInstCount(context, &occurrences);
    for (int column = 0; rc == SQLITE_OK && column < columns; column++) {
        if (wanted >= 0 && wanted != column) continue;
        rc = snippet_look(api, context, column, words, occurrences, &next, &sentences, counts, &best);
    }
    if (rc == SQLITE_OK) rc = snippet_write(api, context, words, fts5ValueToText(values[3]), &best, &text);
    if (rc == SQLITE_OK) {
        sqlite3_result_text(result, text.zOut, -1, SQLITE_TRANSIENT);
    } else {
        sqlite3_result_error_code(result, rc);
    }
    sqlite3_free(text.zOut);
    sqlite3_free(counts);
    sqlite3_free(sentences.aFirst);
}
