/* The effect of system calls on struct files and mappings; see ../../reference/calls.py. */
#include "calls.h"

#include "descriptors.h"
#include "mappings.h"
#include "threads.h"

/* include/uapi/asm-generic/{fcntl,mman-common}.h, include/uapi/linux/{fcntl,close_range}.h */
enum {
    O_CLOEXEC_ = 02000000,
    DUPFD = 0,
    SETFD = 2,
    DUPFD_CLOEXEC = 1030,
    CLOEXEC = 1,
    RANGE_CLOEXEC = 4,
    EXECUTE = 4,
    MAP_SHARED_ = 1,
    ANONYMOUS = 0x20
};

struct range {
    int64_t first, end;
};

static int64_t
floor_of(int64_t value, int64_t size)
{
    return value / size - (value % size < 0);
}

/* The pages [first, end) of a range of bytes; sums are of remainders, which cannot overflow. */
static struct range
pages_of(int64_t start, int64_t length, int64_t size)
{
    int64_t first = floor_of(start, size), more = length > 0 ? length : 0;
    int64_t rest = start - first * size + more % size;

    return (struct range){.first = first,
                          .end = first + more / size + rest / size + (rest % size > 0)};
}

static struct fw_reading
reading_of(uint8_t what, const int64_t *values)
{
    struct fw_reading reading = {.is_any = true, .descriptor = values[0]};

    switch (what) {
    case FW_READ:
    case FW_PREAD:
        reading.count = values[1];
        reading.position = values[2];
        reading.has_position = what == FW_PREAD && 0 <= values[2] && values[2] < FW_LARGEST;
        break;
    case FW_READV:
        break;
    case FW_PREADV:
        reading.position = values[1];
        reading.has_position = 0 <= values[1] && values[1] < FW_LARGEST;
        break;
    case FW_SENDFILE:
        reading.position = FW_ELSEWHERE;
        reading.has_position = values[1] != 0;
        reading.several = true;
        break;
    default:
        reading.is_any = false;
    }
    return reading;
}

static void
map(struct fw_state *state, struct fw_image image, int64_t address, const int64_t *arguments)
{
    int64_t size = state->evidence->page_size, position = arguments[4];
    struct range pages = pages_of(address, arguments[0], size);
    uint32_t handle = fw_descriptor(&state->images, image, arguments[3]);

    if (arguments[2] & ANONYMOUS || handle == FW_NONE || position < 0 || position >= FW_LARGEST) {
        fw_cut(&state->images, image, pages.first, pages.end);
        return;
    }
    struct fw_area area = {.first = pages.first,
                           .end = pages.end,
                           .start = position / size,
                           .handle = handle,
                           .row = FW_NONE};

    area.flags = (uint8_t)((arguments[1] & EXECUTE ? FW_EXECUTES : 0) |
                           (arguments[2] & MAP_SHARED_ ? FW_SHARED : 0));
    fw_map(&state->images, image, &area);
}

static void
moved(struct fw_state *state, struct fw_image image, int64_t address, const int64_t *arguments)
{
    int64_t size = state->evidence->page_size;
    struct range from = pages_of(arguments[0], arguments[1], size);
    struct range to = pages_of(address, arguments[2], size);

    fw_move(&state->images, image, from.first, from.end, to.first, to.end - to.first);
}

static void
will_need(struct fw_state *state, uint32_t handle, int64_t page, int64_t pages)
{
    uint32_t file = state->images.handles[handle].file;

    if (state->images.handles[handle].row == FW_NONE)
        fw_know(&state->draft, handle, file);
    fw_draft_willneed(&state->draft, handle, file, page, pages);
}

static void
madvise(struct fw_state *state, struct fw_image image, const int64_t *values)
{
    /* MADV_NORMAL, RANDOM, SEQUENTIAL, HUGEPAGE, NOHUGEPAGE: what each clears and sets */
    static const int64_t ADVICE[][3] = {{0, FW_RANDOM | FW_SEQUENTIAL, 0},
                                        {1, FW_SEQUENTIAL, FW_RANDOM},
                                        {2, FW_RANDOM, FW_SEQUENTIAL},
                                        {14, 0, FW_HUGE},
                                        {15, FW_HUGE, 0}};
    struct range pages = pages_of(values[0], values[1], state->evidence->page_size);
    struct fw_images *images = &state->images;

    for (size_t i = 0; i < sizeof(ADVICE) / sizeof(*ADVICE); i++)
        if (ADVICE[i][0] == values[2])
            fw_change(images, image, pages.first, pages.end, (uint8_t)ADVICE[i][1],
                      (uint8_t)ADVICE[i][2]);
    if (values[2] != FW_WILLNEED || images->error)
        return;
    fw_over(images, image, pages.first, pages.end);
    for (size_t i = 0; i < images->scratch.n && !fw_error_of(state); i++) {
        const struct fw_area *area = &images->areas.items[images->scratch.items[i].area];
        int64_t low = area->first > pages.first ? area->first : pages.first;
        int64_t high = area->end < pages.end ? area->end : pages.end;
        if (images->handles[area->handle].file != FW_NONE)
            will_need(state, area->handle, area->start + low - area->first, high - low);
    }
}

static void
fadvise(struct fw_state *state, struct fw_image image, int64_t descriptor, int64_t at,
        int64_t length, int64_t advice)
{
    static const uint8_t OPS[] = {FW_OP_NORMAL, FW_OP_RANDOM, FW_OP_SEQUENTIAL, FW_OP_WILLNEED};
    uint32_t row = fw_descriptor(&state->images, image, descriptor);

    if (row == FW_NONE || advice < 0 || advice > FW_WILLNEED || at < 0 || at >= FW_LARGEST)
        return;
    struct fw_handle *handle = &state->images.handles[row];

    if (advice != FW_WILLNEED) {
        if (handle->row == FW_NONE)
            handle->advice = OPS[advice];
        else
            fw_draft_advise(&state->draft, OPS[advice], row);
        return;
    }
    if (handle->file == FW_NONE)
        return;
    struct range pages = pages_of(at, length, state->evidence->page_size);
    int64_t end = length > 0 ? pages.end : fw_pages_of(&state->draft, handle->file);

    if (0 < end - pages.first && end - pages.first < FW_LARGEST)
        will_need(state, row, pages.first, end - pages.first);
}

/* A return with a new descriptor, or with a new position. */
static void
returned(struct fw_state *state, struct fw_image image, int64_t value, uint8_t entered,
         const int64_t *arguments)
{
    if (value < 0 || value >= FW_LARGEST)
        return;
    if (entered == FW_DUP)
        fw_descriptor_duplicate(&state->images, image, arguments[0], value, false);
    if (entered == FW_FCNTL && (arguments[1] == DUPFD || arguments[1] == DUPFD_CLOEXEC))
        fw_descriptor_duplicate(&state->images, image, arguments[0], value,
                                arguments[1] == DUPFD_CLOEXEC);
    if (entered != FW_LSEEK)
        return;
    uint32_t handle = fw_descriptor(&state->images, image, arguments[0]);

    if (handle != FW_NONE)
        state->images.handles[handle].position = value;
}

static void
change_descriptors(struct fw_state *state, struct fw_image image, uint8_t what,
                   const int64_t *values)
{
    struct fw_images *images = &state->images;
    uint32_t handle;

    switch (what) {
    case FW_DUP_TO:
        if (values[0] != values[1])
            fw_descriptor_duplicate(images, image, values[0], values[1], values[2] & O_CLOEXEC_);
        break;
    case FW_FCNTL:
        handle = fw_descriptor(images, image, values[0]);
        if (values[1] == SETFD && handle != FW_NONE)
            fw_descriptor_put(images, image, values[0], handle, values[2] & CLOEXEC);
        break;
    case FW_CLOSE:
        fw_descriptor_close(images, image, values[0]);
        break;
    case FW_CLOSE_RANGE:
        fw_descriptor_close_range(images, image, values[0], values[1], values[2] & RANGE_CLOEXEC);
        break;
    default:
        break;
    }
}

static void
opened(struct fw_state *state, struct fw_image image, int64_t descriptor, uint8_t entered,
       const int64_t *arguments)
{
    int64_t flags = entered == FW_OPEN ? arguments[0] : O_CLOEXEC_;

    if (0 <= descriptor && descriptor < FW_LARGEST)
        fw_descriptor_put(&state->images, image, descriptor, fw_handle_new(&state->images),
                          flags & O_CLOEXEC_);
}

void
fw_call(struct fw_state *state, struct fw_thread *thread, uint8_t what, const int64_t *values)
{
    struct fw_image image = thread->image;
    int64_t arguments[FW_VALUES], size = state->evidence->page_size;
    uint8_t entered = thread->entered;
    bool is_address = 0 < values[0] && values[0] / size < FW_LARGEST;

    thread->reading = reading_of(what, values);
    thread->entered = what;
    for (int i = 0; i < FW_VALUES; i++) {
        arguments[i] = thread->arguments[i];
        thread->arguments[i] = values[i];
    }
    struct range pages = pages_of(values[0], values[1], size);

    switch (what) {
    case FW_OPENED:
        opened(state, image, values[0], entered, arguments);
        break;
    case FW_DUPED:
    case FW_FCNTLED:
    case FW_LSEEKED:
        returned(state, image, values[0], entered, arguments);
        break;
    case FW_MAPPED:
        if (entered == FW_MMAP && is_address)
            map(state, image, values[0], arguments);
        break;
    case FW_MREMAPPED:
        if (entered == FW_MREMAP && is_address)
            moved(state, image, values[0], arguments);
        break;
    case FW_MUNMAP:
        fw_cut(&state->images, image, pages.first, pages.end);
        break;
    case FW_MPROTECT:
        fw_change(&state->images, image, pages.first, pages.end, FW_EXECUTES,
                  values[2] & EXECUTE ? FW_EXECUTES : 0);
        break;
    case FW_MADVISE:
        madvise(state, image, values);
        break;
    case FW_FADVISE:
        fadvise(state, image, values[0], values[1], values[2], values[3]);
        break;
    case FW_READAHEAD:
        fadvise(state, image, values[0], values[1], values[2], FW_WILLNEED);
        break;
    default:
        change_descriptors(state, image, what, values);
    }
}

void
fw_call_learn(struct fw_state *state, struct fw_thread *thread, uint32_t file)
{
    const int64_t *values = thread->arguments;
    struct fw_images *images = &state->images;
    uint32_t unknown = FW_NONE;

    if (thread->entered == FW_MADVISE && values[2] == FW_WILLNEED) {
        struct range pages = pages_of(values[0], values[1], state->evidence->page_size);
        fw_over(images, thread->image, pages.first, pages.end);
        for (size_t i = images->scratch.n; i-- > 0 && !images->error;) {
            uint32_t handle = images->areas.items[images->scratch.items[i].area].handle;
            if (images->handles[handle].file == FW_NONE)
                unknown = handle;
        }
    } else if (thread->entered == FW_READAHEAD ||
               (thread->entered == FW_FADVISE && values[3] == FW_WILLNEED)) {
        uint32_t handle = fw_descriptor(images, thread->image, values[0]);
        if (handle != FW_NONE && images->handles[handle].file == FW_NONE)
            unknown = handle;
    }
    if (unknown == FW_NONE || images->error)
        return;
    int64_t again[FW_VALUES];

    for (int i = 0; i < FW_VALUES; i++)
        again[i] = values[i];
    fw_know(&state->draft, unknown, file);
    fw_call(state, thread, thread->entered, again);
}
