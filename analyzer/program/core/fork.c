/* How images are copied by fork, replaced by exec, and left. */
#include "fork.h"

#include "mappings.h"

#include <stdlib.h>

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
    images->order = area.order - 1; /* what was mapped later is later in the copy, too */
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
