/* Struct files, tables of descriptors and memories: making them, and what a memory knows. */
#include "images.h"

#include <stdlib.h>

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
