/* The descriptors of a process, by number. */
#include "descriptors.h"

#include <string.h>

/* The first descriptor that is ``number`` or above. */
static size_t
position(const struct fw_table *table, int64_t number)
{
    size_t low = 0, high = table->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table->items[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool
is_at(const struct fw_table *table, size_t at, int64_t number)
{
    return at < table->n && table->items[at].number == number;
}

uint32_t
fw_descriptor(const struct fw_images *images, struct fw_image image, int64_t number)
{
    const struct fw_table *table = &images->tables[image.table];
    size_t at = position(table, number);

    return is_at(table, at, number) ? table->items[at].handle : FW_NONE;
}

/* The descriptor of a number, a new one if there was none; NULL after an error. */
static struct fw_descriptor *
descriptor_at(struct fw_images *images, struct fw_image image, int64_t number)
{
    struct fw_table *table = &images->tables[image.table];
    size_t at = position(table, number);

    if (is_at(table, at, number))
        return &table->items[at];
    if (!fw_hold(images, 1))
        return NULL;
    if (!fw_reserve((void **)&table->items, &table->room, table->n + 1, sizeof(*table->items))) {
        images->error = FW_NO_MEMORY;
        return NULL;
    }
    memmove(&table->items[at + 1], &table->items[at], (table->n - at) * sizeof(*table->items));
    table->n++;
    table->items[at] = (struct fw_descriptor){.number = number};
    return &table->items[at];
}

void
fw_descriptor_set(struct fw_images *images, struct fw_image image, int64_t number, uint32_t handle)
{
    struct fw_descriptor *descriptor = descriptor_at(images, image, number);

    if (descriptor)
        descriptor->handle = handle;
}

void
fw_descriptor_put(struct fw_images *images, struct fw_image image, int64_t number, uint32_t handle,
                  bool closing)
{
    struct fw_descriptor *descriptor = descriptor_at(images, image, number);

    if (descriptor)
        *descriptor =
            (struct fw_descriptor){.number = number, .handle = handle, .closing = closing};
}

void
fw_descriptor_duplicate(struct fw_images *images, struct fw_image image, int64_t number,
                        int64_t new, bool closing)
{
    uint32_t handle = fw_descriptor(images, image, number);

    if (handle == FW_NONE)
        fw_descriptor_close(images, image, new);
    else
        fw_descriptor_put(images, image, new, handle, closing);
}

void
fw_descriptor_close(struct fw_images *images, struct fw_image image, int64_t number)
{
    fw_descriptor_close_range(images, image, number, number, false);
}

void
fw_descriptor_close_range(struct fw_images *images, struct fw_image image, int64_t first,
                          int64_t last, bool only_by_exec)
{
    struct fw_table *table = &images->tables[image.table];
    size_t from = position(table, first), until = from;

    while (until < table->n && table->items[until].number <= last)
        table->items[until++].closing = true;
    if (only_by_exec)
        return;
    if (table->items)
        memmove(&table->items[from], &table->items[until],
                (table->n - until) * sizeof(*table->items));
    table->n -= until - from;
    images->held -= until - from;
}

uint32_t
fw_original_of(const struct fw_images *images, struct fw_image image, int64_t number, uint32_t file)
{
    const struct fw_table *table = &images->tables[image.table];

    for (size_t at = position(table, number); at > 0; at--) {
        uint32_t handle = table->items[at - 1].handle;
        uint32_t of = images->handles[handle].file;
        if (of == FW_NONE || of == file)
            return handle;
    }
    return FW_NONE;
}
