#include "format_check.h"

#include <ctype.h>
#include <string.h>

enum { MAX_TEXT = 1 << 20, MAX_FIELDS = 512, MAX_OFFSET = 65535 };

/* A position in a text; every step fails at the text's end. */
struct scan {
    const char *at, *end;
};

static bool
skip(struct scan *s, const char *word)
{
    size_t length = strlen(word);

    if ((size_t)(s->end - s->at) < length || memcmp(s->at, word, length) != 0)
        return false;
    s->at += length;
    return true;
}

static void
skip_blanks(struct scan *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t'))
        s->at++;
}

static bool
skip_number(struct scan *s, uint32_t limit, uint32_t *value)
{
    const char *start = s->at;

    *value = 0;
    while (s->at < s->end && isdigit((unsigned char)*s->at) && *value <= limit)
        *value = *value * 10 + (uint32_t)(*s->at++ - '0');
    return s->at > start && *value <= limit;
}

static bool
is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool
skip_word(struct scan *s, size_t limit)
{
    const char *start = s->at;

    while (s->at < s->end && is_word(*s->at))
        s->at++;
    return s->at > start && (size_t)(s->at - start) < limit;
}

/* [TASK_COMM_LEN], [6], [], or a whole expression (span of sched_overutilized, Android 5.10). */
static bool
skip_brackets(struct scan *s)
{
    if (!skip(s, "["))
        return false;
    while (s->at < s->end && (is_word(*s->at) || strchr(" +-*/%()<>=!?:&|^~,", *s->at) != NULL) &&
           *s->at != 0)
        s->at++;
    return skip(s, "]");
}

/* "__data_loc char[] name": words, stars and brackets, at least a type word and a name. */
static bool
skip_declaration(struct scan *s)
{
    int words = 0;
    bool brackets_last = false, word_last = false;

    for (;; skip_blanks(s)) {
        if (s->at < s->end && is_word(*s->at)) {
            if (isdigit((unsigned char)*s->at) || !skip_word(s, FMT_NAME))
                return false;
            words++;
            word_last = true;
            brackets_last = false;
        } else if (s->at < s->end && *s->at == '[') {
            if (words == 0 || brackets_last || !skip_brackets(s))
                return false;
            brackets_last = true;
        } else if (words > 0 && skip(s, "*")) {
            word_last = brackets_last = false;
        } else {
            break;
        }
    }
    return words >= 2 && word_last;
}

static bool
skip_key(struct scan *s, const char *key, uint32_t limit, uint32_t *value)
{
    skip_blanks(s);
    return skip(s, key) && skip_number(s, limit, value) && skip(s, ";");
}

static bool
skip_field(struct scan *s)
{
    uint32_t offset, size, is_signed;
    struct scan before;

    skip_blanks(s);
    if (!skip(s, "field:"))
        return false;
    skip_blanks(s);
    if (!skip_declaration(s) || !skip(s, ";") || !skip_key(s, "offset:", MAX_OFFSET, &offset) ||
        !skip_key(s, "size:", MAX_OFFSET, &size) || offset + size > MAX_OFFSET)
        return false;
    before = *s;
    if (!skip_key(s, "signed:", 1, &is_signed))
        *s = before; /* kernels before 2.6.32 do not say */
    skip_blanks(s);
    return skip(s, "\n");
}

/* Counts the fields; s then points after the last one. */
static int
check_fields(struct scan *s)
{
    uint32_t id;
    int fields = 0;

    if (!skip(s, "name: ") || !skip_word(s, FMT_NAME) || !skip(s, "\nID: ") ||
        !skip_number(s, UINT16_MAX, &id) || !skip(s, "\nformat:\n"))
        return EV_ERR_FORMAT;
    for (struct scan end = *s; !skip(&end, "\nprint fmt: "); end = *s) {
        if (skip(s, "\n"))
            continue; /* the line between common and own fields */
        if (!skip_field(s) || ++fields > MAX_FIELDS)
            return EV_ERR_FORMAT;
    }
    return fields > 0 ? fields : EV_ERR_FORMAT;
}

int
fmt_check(struct fmt_text text, size_t *fields_end)
{
    struct scan s = {.at = text.text, .end = text.text + text.size};
    int fields;

    if (text.size == 0 || text.size > MAX_TEXT || text.text[text.size - 1] != '\n')
        return EV_ERR_FORMAT;
    fields = check_fields(&s);
    if (fields > 0 && fields_end != NULL)
        *fields_end = (size_t)(s.at - text.text);
    return fields;
}
