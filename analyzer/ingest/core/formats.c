/* fork, poll and signals, beyond C11 */
#define _DEFAULT_SOURCE
#include "formats.h"

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
    static const char empty[] = "\nprint fmt: \"\"\n";
    size_t fields_end;
    char *copy = NULL;

    if (fmt_check(text, &fields_end) > 0)
        copy = malloc(fields_end + sizeof(empty));
    if (copy == NULL)
        return NULL;
    *length = fields_end;
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

/* The header that the child sends before its fields. */
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
    const struct rlimit no_core = {.rlim_cur = 0, .rlim_max = 0};
    struct answer answer;

    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    setrlimit(RLIMIT_CORE, &no_core);
    close(STDERR_FILENO); /* libtraceevent prints its complaints about a format */
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
        struct pollfd ready = {.fd = fd, .events = POLLIN};
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
    struct answer answer = {.ret = 0, .failed = 0, .n = 0};
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
        int count = fmt_check(texts[i], NULL);
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
