/* Handles, descriptors, and the creation and end of images. */
#include "images.h"

#include "mappings.h"

#include <stdlib.h>
#include <string.h>

bool
fw_hold(struct fw_images *images, size_t more)
{
    if (!images->error && more > images->most - images->held)
        images->error = FW_TOO_MUCH;
    if (images->error)
        return false;
    images->held += more;
    return true;
}

uint32_t
fw_handle_new(struct fw_images *images)
{
    size_t n = images->n_handles;

    if (!fw_reserve((void **)&images->handles, &images->room_handles, n + 1,
                    sizeof(*images->handles))) {
        images->error = FW_NO_MEMORY;
        return 0;
    }
    images->handles[n] = (struct fw_handle){.row = FW_NONE, .file = FW_NONE};
    images->n_handles = n + 1;
    return (uint32_t)n;
}

uint32_t
fw_table_new(struct fw_images *images)
{
    size_t n = images->n_tables;

    if (!fw_reserve((void **)&images->tables, &images->room_tables, n + 1,
                    sizeof(*images->tables))) {
        images->error = FW_NO_MEMORY;
        return 0;
    }
    images->tables[n] = (struct fw_table){.shared_by = 1};
    images->n_tables = n + 1;
    return (uint32_t)n;
}

uint32_t
fw_memory_new(struct fw_images *images)
{
    size_t n = images->n_memories;

    if (!fw_reserve((void **)&images->memories, &images->room_memories, n + 1,
                    sizeof(*images->memories))) {
        images->error = FW_NO_MEMORY;
        return 0;
    }
    images->memories[n] = (struct fw_memory){.shared_by = 1, .age = 1};
    images->n_memories = n + 1;
    return (uint32_t)n;
}

int
fw_images_init(struct fw_images *images, size_t most)
{
    *images = (struct fw_images){.most = most};
    fw_handle_new(images);
    fw_image_new(images);
    return images->error;
}

void
fw_images_free(struct fw_images *images)
{
    for (size_t i = 0; i < images->n_tables; i++)
        free(images->tables[i].items);
    for (size_t i = 0; i < images->n_memories; i++) {
        fw_pairs_free(&images->memories[i].index);
        free(images->memories[i].files);
    }
    free(images->handles);
    free(images->tables);
    free(images->memories);
    free(images->areas.items);
    free(images->scratch.items);
}

struct fw_image
fw_image_new(struct fw_images *images)
{
    return (struct fw_image){.table = fw_table_new(images), .memory = fw_memory_new(images)};
}

struct fw_image
fw_image_shared(struct fw_images *images, struct fw_image of)
{
    images->tables[of.table].shared_by++;
    images->memories[of.memory].shared_by++;
    return of;
}

/* A copy of a table, without what exec closes if it ``executes``. */
static uint32_t
table_copied(struct fw_images *images, uint32_t of, bool executes)
{
    uint32_t copy = fw_table_new(images);
    const struct fw_table *from = &images->tables[of];
    struct fw_table *to = &images->tables[copy];

    if (!fw_hold(images, from->n))
        return copy;
    if (from->n && !fw_reserve((void **)&to->items, &to->room, from->n, sizeof(*to->items))) {
        images->error = FW_NO_MEMORY;
        return copy;
    }
    for (size_t i = 0; i < from->n; i++)
        if (!executes || !from->items[i].closing)
            to->items[to->n++] = from->items[i];
    images->held -= from->n - to->n;
    return copy;
}

static void
areas_copied(struct fw_images *images, uint32_t to, uint32_t from)
{
    if (!from || images->error)
        return;
    struct fw_area area = images->areas.items[from];

    areas_copied(images, to, area.link[FW_BY_ADDRESS].child[0]);
    area.row = FW_NONE;
    uint64_t order = images->order;
    images->order = area.order - 1; /* later mappings stay later in the copy */
    fw_add(images, to, &area);
    images->order = order;
    areas_copied(images, to, area.link[FW_BY_ADDRESS].child[1]);
}

static uint32_t
memory_copied(struct fw_images *images, uint32_t of)
{
    uint32_t copy = fw_memory_new(images);

    for (size_t i = 0; i < images->memories[of].n && !images->error; i++) {
        const struct fw_of_file *file = &images->memories[of].files[i];
        if (file->other != FW_NONE)
            fw_other_set(images, copy, file->file, file->other);
    }
    areas_copied(images, copy, images->memories[of].by_address);
    return copy;
}

struct fw_image
fw_image_forked(struct fw_images *images, struct fw_image of, bool files, bool memory)
{
    struct fw_image child = fw_image_shared(images, of);

    if (!files) {
        images->tables[of.table].shared_by--;
        child.table = table_copied(images, of.table, false);
    }
    if (!memory) {
        images->memories[of.memory].shared_by--;
        child.memory = memory_copied(images, of.memory);
    }
    return child;
}

struct fw_image
fw_image_executed(struct fw_images *images, struct fw_image of, uint32_t kernel_reads)
{
    struct fw_image new = {.table = table_copied(images, of.table, true), .memory = kernel_reads};

    fw_image_leave(images, of);
    return new;
}

static void
drop_areas(struct fw_images *images, uint32_t root)
{
    if (!root)
        return;
    uint32_t left = images->areas.items[root].link[FW_BY_ADDRESS].child[0];
    uint32_t right = images->areas.items[root].link[FW_BY_ADDRESS].child[1];

    drop_areas(images, left);
    drop_areas(images, right);
    fw_area_forget(images, root);
}

void
fw_memory_leave(struct fw_images *images, uint32_t row)
{
    if (images->error || --images->memories[row].shared_by)
        return;
    drop_areas(images, images->memories[row].by_address);
    struct fw_memory *memory = &images->memories[row];

    images->held -= memory->n;
    fw_pairs_free(&memory->index);
    free(memory->files);
    *memory = (struct fw_memory){0};
}

void
fw_image_leave(struct fw_images *images, struct fw_image image)
{
    struct fw_table *table = &images->tables[image.table];

    if (images->error)
        return;
    fw_memory_leave(images, image.memory);
    if (--table->shared_by)
        return;
    images->held -= table->n;
    free(table->items);
    *table = (struct fw_table){0};
}

/* A memory's record of a file; NULL after an error. */
struct fw_of_file *
fw_of_file(struct fw_images *images, uint32_t row, uint32_t file)
{
    struct fw_memory *memory = &images->memories[row];
    uint32_t *at = fw_pairs_at(&memory->index, file, 0);

    if (at && *at != FW_NONE)
        return &memory->files[*at];
    if (at && !fw_hold(images, 1))
        return NULL;
    if (!at || !fw_reserve((void **)&memory->files, &memory->room, memory->n + 1,
                           sizeof(*memory->files))) {
        images->error = FW_NO_MEMORY;
        return NULL;
    }
    *at = (uint32_t)memory->n++;
    memory->files[*at] = (struct fw_of_file){.file = file, .other = FW_NONE};
    return &memory->files[*at];
}

const struct fw_of_file *
fw_if_of_file(const struct fw_images *images, uint32_t row, uint32_t file)
{
    const struct fw_memory *memory = &images->memories[row];
    uint32_t at = fw_pairs_get(&memory->index, file, 0);

    return at == FW_NONE ? NULL : &memory->files[at];
}

uint32_t
fw_other(const struct fw_images *images, uint32_t memory, uint32_t file)
{
    const struct fw_of_file *known = fw_if_of_file(images, memory, file);

    return known ? known->other : FW_NONE;
}

void
fw_other_set(struct fw_images *images, uint32_t memory, uint32_t file, uint32_t handle)
{
    struct fw_of_file *known = fw_of_file(images, memory, file);

    if (known)
        known->other = handle;
}
