/* The mappings of a process. */
#include "mappings.h"

#include <stdlib.h>

static struct fw_area *
at(const struct fw_images *images, uint32_t area)
{
    return &images->areas.items[area];
}

/* Put an area among those of its file in its memory, or among those of unknown files. */
static void
place_by_page(struct fw_images *images, uint32_t row)
{
    struct fw_area *area = at(images, row);
    struct fw_handle *handle = &images->handles[area->handle];
    struct fw_memory *memory = &images->memories[area->memory];

    if (handle->file == FW_NONE) {
        area->before = 0;
        area->next = handle->areas;
        if (handle->areas)
            at(images, handle->areas)->before = row;
        handle->areas = row;
        memory->unknown = fw_tree_add(&images->areas, FW_BY_PAGE, memory->unknown, row);
        return;
    }
    struct fw_of_file *known = fw_of_file(images, area->memory, handle->file);

    if (known)
        known->root = fw_tree_add(&images->areas, FW_BY_PAGE, known->root, row);
}

static void
remove_by_page(struct fw_images *images, uint32_t row)
{
    const struct fw_area *area = at(images, row);
    struct fw_handle *handle = &images->handles[area->handle];
    struct fw_memory *memory = &images->memories[area->memory];

    if (handle->file != FW_NONE) {
        struct fw_of_file *known = fw_of_file(images, area->memory, handle->file);
        if (known)
            known->root = fw_tree_remove(&images->areas, FW_BY_PAGE, known->root, row);
        return;
    }
    if (area->before)
        at(images, area->before)->next = area->next;
    else
        handle->areas = area->next;
    if (area->next)
        at(images, area->next)->before = area->before;
    memory->unknown = fw_tree_remove(&images->areas, FW_BY_PAGE, memory->unknown, row);
}

void
fw_file_known(struct fw_images *images, uint32_t row, uint32_t file)
{
    uint32_t area = images->handles[row].areas;

    images->handles[row].areas = 0;
    images->handles[row].file = file;
    while (area && !images->error) {
        uint32_t next = at(images, area)->next;
        struct fw_memory *memory = &images->memories[at(images, area)->memory];
        memory->unknown = fw_tree_remove(&images->areas, FW_BY_PAGE, memory->unknown, area);
        place_by_page(images, area);
        area = next;
    }
}

void
fw_area_forget(struct fw_images *images, uint32_t area)
{
    remove_by_page(images, area);
    fw_area_drop(&images->areas, area);
    images->held--;
}

static void
take_out(struct fw_images *images, uint32_t area)
{
    struct fw_memory *memory = &images->memories[at(images, area)->memory];

    memory->by_address = fw_tree_remove(&images->areas, FW_BY_ADDRESS, memory->by_address, area);
    fw_area_forget(images, area);
}

/* Add an area, which keeps its order. */
static void
put_in(struct fw_images *images, const struct fw_area *area)
{
    if (area->first >= area->end || !fw_hold(images, 1))
        return;
    uint32_t row = fw_area_new(&images->areas, area);

    if (!row) {
        images->error = FW_NO_MEMORY;
        return;
    }
    struct fw_memory *memory = &images->memories[area->memory];

    memory->by_address = fw_tree_add(&images->areas, FW_BY_ADDRESS, memory->by_address, row);
    place_by_page(images, row);
}

void
fw_add(struct fw_images *images, uint32_t memory, const struct fw_area *area)
{
    struct fw_area new = *area;

    new.memory = memory;
    new.order = ++images->order;
    images->memories[memory].age++;
    put_in(images, &new);
}

/* An area that holds a page of a file maps that file. */
uint32_t
fw_find(struct fw_images *images, struct fw_image image, uint32_t file, int64_t page)
{
    struct fw_memory *memory = &images->memories[image.memory];
    struct fw_of_file *known = fw_of_file(images, image.memory, file);

    if (!known)
        return 0;
    if (known->near && known->age == memory->age && fw_area_holds(at(images, known->near), page))
        return known->near;
    uint32_t found = fw_tree_latest(&images->areas, known->root, page);

    if (!found) {
        found = fw_tree_latest(&images->areas, memory->unknown, page);
        if (found)
            fw_file_known(images, at(images, found)->handle, file);
        known = fw_of_file(images, image.memory, file);
    }
    if (found && known) {
        known->near = found;
        known->age = memory->age;
    }
    return found;
}

bool
fw_maps(const struct fw_images *images, struct fw_image image, uint32_t file)
{
    const struct fw_of_file *known = fw_if_of_file(images, image.memory, file);

    return known && known->root;
}

void
fw_over(struct fw_images *images, struct fw_image image, int64_t first, int64_t end)
{
    uint32_t root = images->memories[image.memory].by_address;

    if (!fw_tree_over(&images->areas, root, first, end, &images->scratch))
        images->error = FW_NO_MEMORY;
}

/* A piece of an area; it is a mapping of its own unless it is the whole. */
static struct fw_area
part(const struct fw_area *area, int64_t first, int64_t end)
{
    struct fw_area piece = *area;

    piece.start += first - area->first;
    piece.first = first;
    piece.end = end;
    if (first != area->first || end != area->end)
        piece.row = FW_NONE;
    return piece;
}

/* Take [first, end) out of the areas in scratch; return what was taken, NULL after an error. */
static struct fw_area *
cut_found(struct fw_images *images, int64_t first, int64_t end)
{
    struct fw_area *taken = NULL;
    size_t room = 0, n = images->scratch.n;

    if (!fw_reserve((void **)&taken, &room, n + 1, sizeof(*taken))) {
        images->error = FW_NO_MEMORY;
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t row = images->scratch.items[i].area;
        struct fw_area area = *at(images, row);
        int64_t low = area.first > first ? area.first : first;
        int64_t high = area.end < end ? area.end : end;
        taken[i] = part(&area, low, high);
        struct fw_area left = part(&area, area.first, low), right = part(&area, high, area.end);
        take_out(images, row);
        put_in(images, &left);
        put_in(images, &right);
    }
    return taken;
}

static struct fw_area *
cut(struct fw_images *images, struct fw_image image, int64_t first, int64_t end)
{
    images->memories[image.memory].age++;
    if (first < end)
        fw_over(images, image, first, end);
    else
        images->scratch.n = 0;
    return images->error ? NULL : cut_found(images, first, end);
}

void
fw_cut(struct fw_images *images, struct fw_image image, int64_t first, int64_t end)
{
    free(cut(images, image, first, end));
}

void
fw_map(struct fw_images *images, struct fw_image image, const struct fw_area *area)
{
    fw_cut(images, image, area->first, area->end);
    if (!images->error)
        fw_add(images, image.memory, area);
}

void
fw_move(struct fw_images *images, struct fw_image image, int64_t first, int64_t end, int64_t to,
        int64_t pages)
{
    struct fw_area *taken = cut(images, image, first, end);
    size_t n = images->scratch.n;

    if (taken)
        fw_cut(images, image, to, to + pages);
    for (size_t i = 0; taken && i < n && !images->error; i++) {
        struct fw_area moved = taken[i];
        int64_t last = to + pages;
        int64_t until = moved.end == end ? last : moved.end - first + to;
        moved.first += to - first;
        moved.end = until < last ? until : last;
        moved.row = FW_NONE;
        fw_add(images, image.memory, &moved);
    }
    free(taken);
}

void
fw_change(struct fw_images *images, struct fw_image image, int64_t first, int64_t end,
          uint8_t clear, uint8_t put)
{
    bool same = true;

    fw_over(images, image, first, end);
    for (size_t i = 0; i < images->scratch.n && !images->error; i++) {
        uint8_t flags = at(images, images->scratch.items[i].area)->flags;
        same = same && flags == ((flags & ~clear) | put);
    }
    if (same || images->error)
        return;
    struct fw_area *taken = cut(images, image, first, end);
    size_t n = images->scratch.n;

    for (size_t i = 0; taken && i < n && !images->error; i++) {
        uint8_t flags = (uint8_t)((taken[i].flags & ~clear) | put);
        if (flags != taken[i].flags)
            taken[i].row = FW_NONE;
        taken[i].flags = flags;
        fw_add(images, image.memory, &taken[i]);
    }
    free(taken);
}
