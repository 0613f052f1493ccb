/* The peer: a trace.dat into columns with the libtracecmd C API and cached fields.
 *
 * tracecmd_peer FILE [REPEAT [ROWS]]: decodes the wanted events of every buffer and prints
 * "EVENTS SECONDS", each time anew; with ROWS it also writes them there, tab-separated, in the
 * order in which the library gave them. The columns are those of analyzer/ingest/tables.py
 * (EVENTS), the flags of block events aside. decode_tracedat.py writes wanted.h, a row for each
 * event that foreread decodes.
 */
#include <event-parse.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <trace-cmd/trace-cmd.h>

enum { DEV, INO, INDEX, VALUE, NUMERIC };

struct wanted {
    const char *system, *name;
    uint8_t kind;
    const char *fields[NUMERIC];
};

static const struct wanted WANTED[] = {
#include "wanted.h"
};
enum { N_WANTED = sizeof(WANTED) / sizeof(WANTED[0]) };

struct cached {
    uint8_t kind;
    struct tep_format_field *pid, *fields[NUMERIC];
};

struct columns {
    uint64_t *time_ns, *ino, *index, *value;
    uint32_t *dev;
    int32_t *pid;
    uint16_t *cpu;
    uint8_t *kind;
    size_t n, capacity;
};

static struct cached by_id[65536];

static void
cache_fields(struct tep_handle *tep)
{
    for (int i = 0; i < N_WANTED; i++) {
        struct tep_event *event = tep_find_event_by_name(tep, WANTED[i].system, WANTED[i].name);
        if (event == NULL || event->id >= 65536)
            continue;
        struct cached *cached = &by_id[event->id];
        cached->kind = WANTED[i].kind;
        cached->pid = tep_find_common_field(event, "common_pid");
        for (int f = 0; f < NUMERIC; f++)
            if (WANTED[i].fields[f])
                cached->fields[f] = tep_find_any_field(event, WANTED[i].fields[f]);
    }
}

static void *
grown(void *array, size_t capacity, size_t size)
{
    void *larger = realloc(array, capacity * size);

    if (larger == NULL)
        exit(1);
    return larger;
}

static void
grow(struct columns *c)
{
    c->capacity = c->capacity ? 2 * c->capacity : 1 << 16;
    c->time_ns = grown(c->time_ns, c->capacity, sizeof(*c->time_ns));
    c->ino = grown(c->ino, c->capacity, sizeof(*c->ino));
    c->index = grown(c->index, c->capacity, sizeof(*c->index));
    c->value = grown(c->value, c->capacity, sizeof(*c->value));
    c->dev = grown(c->dev, c->capacity, sizeof(*c->dev));
    c->pid = grown(c->pid, c->capacity, sizeof(*c->pid));
    c->cpu = grown(c->cpu, c->capacity, sizeof(*c->cpu));
    c->kind = grown(c->kind, c->capacity, sizeof(*c->kind));
}

static uint64_t
number(struct tep_format_field *field, const void *data)
{
    unsigned long long value = 0;

    if (field)
        tep_read_number_field(field, data, &value);
    return value;
}

static int
add_row(struct tracecmd_input *handle, struct tep_record *record, int cpu, void *context)
{
    struct columns *c = context;
    (void)cpu; /* with several buffers it is none of the machine's */
    struct tep_handle *tep = tracecmd_get_tep(handle);
    int id = tep_data_type(tep, record);

    if (id < 0 || id >= 65536 || by_id[id].kind == 0)
        return 0;
    const struct cached *cached = &by_id[id];
    if (c->n == c->capacity)
        grow(c);
    c->time_ns[c->n] = record->ts;
    c->cpu[c->n] = (uint16_t)record->cpu;
    c->kind[c->n] = cached->kind;
    c->pid[c->n] = (int32_t)number(cached->pid, record->data);
    c->dev[c->n] = (uint32_t)number(cached->fields[DEV], record->data);
    c->ino[c->n] = number(cached->fields[INO], record->data);
    c->index[c->n] = number(cached->fields[INDEX], record->data);
    c->value[c->n] = number(cached->fields[VALUE], record->data);
    c->n++;
    return 0;
}

static void
write_rows(const struct columns *c, const char *path)
{
    FILE *out = fopen(path, "w");

    if (out == NULL)
        exit(1);
    for (size_t i = 0; i < c->n; i++)
        fprintf(out,
                "%" PRIu64 "\t%u\t%u\t%" PRId32 "\t%" PRIu32 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
                "\n",
                c->time_ns[i], c->cpu[i], c->kind[i], c->pid[i], c->dev[i], c->ino[i], c->index[i],
                c->value[i]);
    if (fclose(out))
        exit(1);
}

static double
seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void
free_columns(struct columns *c)
{
    free(c->time_ns);
    free(c->ino);
    free(c->index);
    free(c->value);
    free(c->dev);
    free(c->pid);
    free(c->cpu);
    free(c->kind);
}

/* Opens the file and all its buffers, decodes, closes. */
static int
decode(const char *path, struct columns *columns)
{
    struct tracecmd_input *top = tracecmd_open(path, TRACECMD_FL_LOAD_NO_PLUGINS);
    if (top == NULL)
        return 1;
    int n = 1 + tracecmd_buffer_instances(top);
    struct tracecmd_input **handles = calloc((size_t)n, sizeof(*handles));
    if (handles == NULL)
        return 1;
    handles[0] = top;
    for (int i = 1; i < n; i++)
        handles[i] = tracecmd_buffer_instance_handle(top, i - 1);
    memset(by_id, 0, sizeof(by_id));
    cache_fields(tracecmd_get_tep(top));
    if (n == 1)
        tracecmd_iterate_events(top, NULL, 0, add_row, columns);
    else
        tracecmd_iterate_events_multi(handles, n, add_row, columns);
    for (int i = n - 1; i >= 0; i--)
        tracecmd_close(handles[i]);
    free(handles);
    return 0;
}

int
main(int argc, char **argv)
{
    int repeat = argc > 2 ? atoi(argv[2]) : 1;

    if (argc < 2)
        return 2;
    tracecmd_set_loglevel(TEP_LOG_NONE);
    for (int i = 0; i < repeat; i++) {
        struct columns columns = {0};
        double start = seconds();
        if (decode(argv[1], &columns))
            return 1;
        printf("%zu %.6f\n", columns.n, seconds() - start);
        if (argc > 3)
            write_rows(&columns, argv[3]);
        free_columns(&columns);
    }
    return 0;
}
