/* The peer: a trace.dat into columns with the libtracecmd C API and cached fields.
 *
 * tracecmd_peer FILE [ROWS]: decodes the wanted events of every buffer and prints
 * "EVENTS SECONDS"; with ROWS it also writes them there, tab-separated, in the order in which the
 * library gave them. The columns are those of analyzer/ingest/tables.py (EVENTS), strings aside.
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
    {"filemap", "mm_filemap_add_to_page_cache", 1, {"s_dev", "i_ino", "index", "order"}},
    {"filemap", "mm_filemap_delete_from_page_cache", 2, {"s_dev", "i_ino", "index", "order"}},
    {"filemap", "mm_filemap_fault", 3, {"s_dev", "i_ino", "index", NULL}},
    {"filemap", "mm_filemap_get_pages", 4, {"s_dev", "i_ino", "index", "last_index"}},
    {"filemap", "mm_filemap_map_pages", 5, {"s_dev", "i_ino", "index", "last_index"}},
    {"readahead", "page_cache_ra_unbounded", 6, {"s_dev", "i_ino", "index", "nr_to_read"}},
    {"readahead", "page_cache_sync_ra", 7, {"s_dev", "i_ino", "index", "req_count"}},
    {"block", "block_bio_queue", 8, {"dev", NULL, "sector", "nr_sector"}},
    {"block", "block_rq_issue", 9, {"dev", NULL, "sector", "nr_sector"}},
    {"block", "block_rq_complete", 10, {"dev", NULL, "sector", "nr_sector"}},
    {"sched", "sched_process_fork", 11, {NULL, NULL, NULL, "child_pid"}},
    {"sched", "sched_process_exec", 12, {NULL, NULL, NULL, "old_pid"}},
    {"sched", "sched_process_exit", 13, {NULL, NULL, NULL, NULL}},
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
                cached->fields[f] = tep_find_field(event, WANTED[i].fields[f]);
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

int
main(int argc, char **argv)
{
    struct columns columns = {0};
    double start = seconds();

    if (argc < 2)
        return 2;
    tracecmd_set_loglevel(TEP_LOG_NONE);
    struct tracecmd_input *top = tracecmd_open(argv[1], TRACECMD_FL_LOAD_NO_PLUGINS);
    if (top == NULL)
        return 1;
    int n = 1 + tracecmd_buffer_instances(top);
    struct tracecmd_input **handles = calloc((size_t)n, sizeof(*handles));
    if (handles == NULL)
        return 1;
    handles[0] = top;
    for (int i = 1; i < n; i++)
        handles[i] = tracecmd_buffer_instance_handle(top, i - 1);
    cache_fields(tracecmd_get_tep(top));
    if (n == 1)
        tracecmd_iterate_events(top, NULL, 0, add_row, &columns);
    else
        tracecmd_iterate_events_multi(handles, n, add_row, &columns);
    printf("%zu %.6f\n", columns.n, seconds() - start);
    if (argc > 2)
        write_rows(&columns, argv[2]);
    for (int i = n - 1; i >= 0; i--)
        tracecmd_close(handles[i]);
    return 0;
}
