/* libFuzzer target: following the threads of a recording, and what must hold of the program.
 *
 * An input is what is known of files, and moments of eight bytes each; some numbers are out of all
 * range.
 */
#include "bytes.h"
#include "follow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILES = 4, INSERTED = 16, PIECES = 3, MAX_MOMENTS = 4000, PAGE = 4096 };

struct input {
    struct fw_moment moments[MAX_MOMENTS];
    struct fw_inserted inserted[INSERTED];
    struct fw_piece segments[PIECES], cached[PIECES];
    int64_t sizes[FILES];
    uint8_t flags[FILES];
    size_t n;
    uint32_t shown;
    int64_t page_size;
};

static int64_t
number(struct bytes *b)
{
    static const int64_t FAR[] = {-1,
                                  INT64_MIN,
                                  INT64_MAX,
                                  INT64_C(1) << 50,
                                  (INT64_C(1) << 50) - 1,
                                  INT64_C(1) << 62,
                                  INT64_C(1) << 32,
                                  02000000};
    unsigned choice = next(b, 256);

    if (choice < 96)
        return choice % 8;
    if (choice < 160)
        return (int64_t)(choice - 96) * PAGE;
    if (choice < 248)
        return (INT64_C(1) << 30) + (int64_t)(choice - 160) * PAGE;
    return FAR[choice - 248];
}

static void
decode_files(struct input *in, struct bytes *b)
{
    static const int64_t SIZES[] = {-1, 0, 1, 50000, 1 << 20, INT64_MAX, INT64_MIN, 1 << 17};

    in->shown = next(b, 8);
    in->page_size = next(b, 50) ? PAGE : (int64_t)next(b, 3) - 1;
    for (int i = 0; i < FILES; i++) {
        in->sizes[i] = SIZES[next(b, 8)];
        in->flags[i] = (uint8_t)next(b, 8);
    }
    for (int i = 0; i < INSERTED; i++)
        in->inserted[i] = (struct fw_inserted){.page = next(b, 32),
                                               .file = next(b, FILES),
                                               .unread = (uint8_t)next(b, 2),
                                               .stored = (uint8_t)next(b, 2),
                                               .way = (int8_t)(next(b, 6) - 1)};
    for (uint32_t i = 0; i < PIECES; i++) {
        uint64_t first = next(b, 32);
        in->segments[i] = (struct fw_piece){
            .first = first, .end = first + 1 + next(b, 8), .file = i, .executable = i & 1};
        in->cached[i] =
            (struct fw_piece){.first = first, .end = first + 1 + next(b, 100), .file = i};
    }
}

static void
decode_moments(struct input *in, struct bytes *b)
{
    static const uint8_t EVENTS[] = {FW_INSERT,    FW_FAULT,        FW_FAULT, FW_GET_PAGES,
                                     FW_MAP_PAGES, FW_RA_UNBOUNDED, FW_FORK,  FW_EXEC};

    for (in->n = 0; in->n < MAX_MOMENTS && b->left; in->n++) {
        unsigned what = next(b, 64);
        struct fw_moment *m = &in->moments[in->n];
        bool is_event = what < 24;
        *m = (struct fw_moment){.time_ns = in->n, .pid = (int32_t)next(b, 6)};
        m->what = is_event ? EVENTS[what % 8] : (uint8_t)(FW_READ + (what - 24) % 27);
        for (int i = 0; i < FW_VALUES; i++)
            m->values[i] = number(b);
        if (is_event && m->what != FW_FORK && m->what != FW_EXEC) {
            m->values[0] = (int64_t)(m->values[0] & 7) % (FILES + 1) - 1;
            m->values[1] = m->values[1] & 63;
        }
    }
}

static void
check(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

/* Rows exist in the program, and operations are in order of time. */
static void
check_program(const struct fw_program *p)
{
    for (size_t i = 0; i < p->n_handles; i++)
        check(p->handles[i] < FILES, "the file of a handle");
    for (size_t i = 0; i < p->n_mappings; i++)
        check(p->mappings[i].handle < p->n_handles && p->mappings[i].pages > 0, "a mapping");
    for (size_t i = 0; i < p->n_operations; i++) {
        const struct fw_operation *o = &p->operations[i];
        bool of_file = o->op == FW_OP_SINGLE || o->op == FW_OP_PRESENT;
        check(o->op >= FW_OP_READ && o->op <= FW_OP_PRESENT, "an operation");
        check(o->handle < (of_file ? (size_t)FILES : p->n_handles) || o->op == FW_OP_FAULT,
              "the handle of an operation");
        check(o->op != FW_OP_FAULT || o->mapping < p->n_mappings, "the mapping of a fault");
        check(!i || p->times[i - 1] <= p->times[i], "the order of operations");
    }
    for (size_t i = 0; i < p->n_holes; i++)
        check(p->holes[i].file < FILES, "the file of a hole");
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct input in;
    struct bytes b = {.at = data, .left = size};
    struct fw_program program;

    decode_files(&in, &b);
    decode_moments(&in, &b);
    struct fw_evidence evidence = {.moments = in.moments,
                                   .n_moments = in.n,
                                   .inserted = in.inserted,
                                   .n_inserted = INSERTED,
                                   .segments = in.segments,
                                   .n_segments = PIECES,
                                   .cached = in.cached,
                                   .n_cached = PIECES,
                                   .sizes = in.sizes,
                                   .flags = in.flags,
                                   .n_files = FILES,
                                   .page_size = in.page_size,
                                   .shown = in.shown};
    int error = fw_follow(&evidence, &program);

    check(error <= 0 && error >= FW_LAST_ERROR, "an error");
    if (error)
        check(*fw_message(error) && *fw_remedy(error), "the text of an error");
    else
        check_program(&program);
    fw_free_program(&program);
    return 0;
}
