/* fork, poll and signals, beyond C11 */
#define _DEFAULT_SOURCE
#include "formats.h"

#include <ctype.h>
#include <errno.h>
#include <event-parse.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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

/* [TASK_COMM_LEN], [6], [] */
static bool
skip_brackets(struct scan *s)
{
    if (!skip(s, "["))
        return false;
    while (s->at < s->end && (is_word(*s->at) || strchr(" +-*/()", *s->at) != NULL) && *s->at != 0)
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

/* Everything up to the print format: s is left there. */
static int
check_fields(struct scan *s)
{
    uint32_t id;
    int fields = 0;

    if (!skip(s, "name: ") || !skip_word(s, FMT_NAME) || !skip(s, "\nID: ") ||
        !skip_number(s, UINT16_MAX, &id) || !skip(s, "\nformat:\n"))
        return EV_ERR_FORMAT;
    while (!skip(s, "\nprint fmt: ")) {
        if (skip(s, "\n"))
            continue; /* the line between common and own fields */
        if (!skip_field(s) || ++fields > MAX_FIELDS)
            return EV_ERR_FORMAT;
    }
    return fields > 0 ? fields : EV_ERR_FORMAT;
}

int
fmt_check(struct fmt_text text)
{
    struct scan s = {text.text, text.text + text.size};

    if (text.size == 0 || text.size > MAX_TEXT || text.text[text.size - 1] != '\n')
        return EV_ERR_FORMAT;
    return check_fields(&s);
}

static int
add_field(struct fmt_fields *fields, uint32_t event, uint32_t id,
          const struct tep_format_field *from)
{
    struct fmt_field *to = &fields->items[fields->n];
    unsigned long flags = from->flags;

    if (from->name == NULL || strlen(from->name) >= FMT_NAME || from->offset < 0 || from->size < 0)
        return EV_ERR_FORMAT_PARSER;
    if (fields->n == fields->capacity)
        return EV_ERR_CAPACITY;
    fields->n++;
    memset(to, 0, sizeof(*to));
    to->event = event;
    to->id = id;
    to->offset = (uint32_t)from->offset;
    to->size = (uint32_t)from->size;
    to->flags |= flags & TEP_FIELD_IS_ARRAY ? FMT_ARRAY : 0;
    to->flags |= flags & TEP_FIELD_IS_SIGNED ? FMT_SIGNED : 0;
    to->flags |= flags & TEP_FIELD_IS_STRING ? FMT_STRING : 0;
    if (flags & TEP_FIELD_IS_DYNAMIC)
        to->flags |= flags & TEP_FIELD_IS_RELATIVE ? FMT_REL_LOC : FMT_DATA_LOC;
    strcpy(to->name, from->name);
    return EV_OK;
}

static int
add_event(struct fmt_fields *fields, uint32_t index, const struct tep_event *event)
{
    const struct tep_format_field *lists[] = {event->format.common_fields, event->format.fields};
    int ret = EV_OK;

    for (int i = 0; i < 2; i++)
        for (const struct tep_format_field *f = lists[i]; f != NULL && ret == EV_OK; f = f->next)
            ret = add_field(fields, index, (uint32_t)event->id, f);
    return ret;
}

/* A copy of the text up to its print format, which is the larger part of the parser and not
 * needed here: the copy gets an empty one. */
static char *
without_print(struct fmt_text text, size_t *length)
{
    static const char start[] = "\nprint fmt: ", empty[] = "\nprint fmt: \"\"\n";
    struct scan s = {text.text, text.text + text.size};
    char *copy = NULL;

    if (check_fields(&s) > 0)
        copy = malloc(text.size + sizeof(empty));
    if (copy == NULL)
        return NULL;
    *length = (size_t)(s.at - text.text) - (sizeof(start) - 1);
    memcpy(copy, text.text, *length);
    memcpy(copy + *length, empty, sizeof(empty));
    *length += sizeof(empty) - 1;
    return copy;
}

static int
parse_one(struct fmt_text text, uint32_t index, struct fmt_target target, struct fmt_fields *fields)
{
    struct tep_handle *tep = tep_alloc();
    const struct tep_event *event;
    size_t length = 0;
    char *copy = without_print(text, &length);
    int ret = EV_ERR_NO_MEMORY;

    if (tep == NULL || copy == NULL)
        goto out;
    tep_set_loglevel(TEP_LOG_NONE);
    tep_set_file_bigendian(tep, target.big_endian ? TEP_BIG_ENDIAN : TEP_LITTLE_ENDIAN);
    tep_set_long_size(tep, target.long_size);
    ret = EV_ERR_FORMAT_PARSER;
    if (tep_parse_event(tep, copy, length, "trace") != TEP_ERRNO__SUCCESS)
        goto out;
    event = tep_get_first_event(tep);
    if (event != NULL)
        ret = add_event(fields, index, event);
out:
    free(copy);
    tep_free(tep);
    return ret;
}

int
fmt_parse(const struct fmt_text *texts, size_t n, struct fmt_target target,
          struct fmt_fields *fields)
{
    int ret = EV_OK;

    for (size_t i = 0; i < n && ret == EV_OK; i++) {
        fields->failed = (uint32_t)i;
        ret = parse_one(texts[i], (uint32_t)i, target, fields);
    }
    return ret;
}

/* What the child sends before its fields. */
struct answer {
    int32_t ret;
    uint32_t failed;
    uint64_t n;
};

static bool
write_all(int fd, const void *data, size_t size)
{
    const char *at = data;

    while (size > 0) {
        ssize_t done = write(fd, at, size);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        at += done;
        size -= (size_t)done;
    }
    return true;
}

/* Never returns. The parent's signal handlers must not run here. */
static void
child(int fd, const struct fmt_text *texts, size_t n, struct fmt_target target,
      struct fmt_fields *fields)
{
    const struct rlimit no_core = {0, 0};
    struct answer answer;

    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    setrlimit(RLIMIT_CORE, &no_core);
    close(STDERR_FILENO); /* libtraceevent prints what it thinks of a format */
    answer.ret = fmt_parse(texts, n, target, fields);
    answer.failed = fields->failed;
    answer.n = fields->n;
    if (write_all(fd, &answer, sizeof(answer)))
        write_all(fd, fields->items, fields->n * sizeof(*fields->items));
    _exit(0);
}

static int64_t
now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Reads exactly size bytes until the deadline; the child's death shows as end of file. */
static int
read_all(int fd, void *data, size_t size, int64_t deadline_ms)
{
    char *at = data;

    while (size > 0) {
        struct pollfd ready = {fd, POLLIN, 0};
        int64_t left = deadline_ms - now_ms();
        int polled = left > 0 ? poll(&ready, 1, (int)left) : 0;
        if (polled == 0)
            return EV_ERR_FORMAT_TIME;
        ssize_t done = polled > 0 ? read(fd, at, size) : -1;
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return EV_ERR_FORMAT_PARSER;
        at += done;
        size -= (size_t)done;
    }
    return EV_OK;
}

static int
receive(int fd, struct fmt_fields *fields, int timeout_ms)
{
    int64_t deadline_ms = now_ms() + timeout_ms;
    struct answer answer = {0, 0, 0};
    int ret = read_all(fd, &answer, sizeof(answer), deadline_ms);

    fields->n = 0;
    if (ret != EV_OK)
        return ret;
    fields->failed = answer.failed;
    if (answer.ret != EV_OK)
        return answer.ret;
    if (answer.n > fields->capacity)
        return EV_ERR_FORMAT_PARSER;
    ret = read_all(fd, fields->items, answer.n * sizeof(*fields->items), deadline_ms);
    if (ret == EV_OK)
        fields->n = answer.n;
    return ret;
}

static int
parse_in_child(const struct fmt_text *texts, size_t n, struct fmt_target target,
               struct fmt_fields *fields, int timeout_ms)
{
    int ends[2], ret;
    pid_t pid;

    if (pipe(ends) != 0)
        return EV_ERR_CHILD;
    pid = fork();
    if (pid == 0) {
        close(ends[0]);
        child(ends[1], texts, n, target, fields);
    }
    close(ends[1]);
    ret = pid < 0 ? EV_ERR_CHILD : receive(ends[0], fields, timeout_ms);
    close(ends[0]);
    if (pid > 0) {
        kill(pid, SIGKILL);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    return ret;
}

int
fmt_fields_alloc(struct fmt_fields *fields, const struct fmt_text *texts, size_t n,
                 struct fmt_target target, int timeout_ms)
{
    size_t capacity = 0;

    memset(fields, 0, sizeof(*fields));
    for (size_t i = 0; i < n; i++) {
        int count = fmt_check(texts[i]);
        if (count < 0) {
            fields->failed = (uint32_t)i;
            return count;
        }
        capacity += (size_t)count;
    }
    fields->items = calloc(capacity + 1, sizeof(*fields->items));
    if (fields->items == NULL)
        return EV_ERR_NO_MEMORY;
    fields->capacity = capacity;
    return parse_in_child(texts, n, target, fields, timeout_ms);
}

void
fmt_fields_free(struct fmt_fields *fields)
{
    free(fields->items);
    memset(fields, 0, sizeof(*fields));
}
