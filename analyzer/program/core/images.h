/* Open files and mappings of processes; threads share them. See Image in ../../reference/images.py.
 */
#ifndef FOREREAD_FOLLOW_IMAGES_H
#define FOREREAD_FOLLOW_IMAGES_H

#include "areas.h"
#include "errors.h"
#include "evidence.h"

/* A struct file; ``file`` and ``row`` are FW_NONE until a page of it is seen. */
struct fw_handle {
    int64_t position;
    uint32_t row, file;
    uint32_t areas; /* mappings of it, as long as its file is unknown */
    uint8_t advice; /* an enum fw_op given before its row, or 0 */
};

struct fw_descriptor {
    int64_t number;
    uint32_t handle;
    bool closing; /* by exec */
};

/* Descriptors in rising order. */
struct fw_table {
    uint32_t shared_by;
    struct fw_descriptor *items;
    size_t n, room;
};

/* A memory's record of one file. */
struct fw_of_file {
    uint32_t file;
    uint32_t root;  /* of its mappings, FW_BY_PAGE */
    uint32_t other; /* the struct file that is read without a descriptor, FW_NONE: none */
    uint32_t near;  /* the last result, if ``age`` is the memory's */
    uint64_t age;
};

struct fw_memory {
    uint32_t shared_by;
    uint32_t by_address, unknown; /* roots; ``unknown``: mappings of unknown files, FW_BY_PAGE */
    uint64_t age;                 /* rises with each change of the mappings */
    struct fw_pairs index;        /* of file, to files */
    struct fw_of_file *files;
    size_t n, room;
};

struct fw_image {
    uint32_t table, memory;
};

/* All images; ``held`` counts what they hold, at most ``most``. Errors stay in ``error``. */
struct fw_images {
    struct fw_handle *handles;
    size_t n_handles, room_handles;
    struct fw_table *tables;
    size_t n_tables, room_tables;
    struct fw_memory *memories;
    size_t n_memories, room_memories;
    struct fw_areas areas;
    struct fw_list scratch;
    uint64_t order;
    size_t held, most;
    int error;
};

int fw_images_init(struct fw_images *images, size_t most);
void fw_images_free(struct fw_images *images);

/* Each returns a row; after an error a valid but meaningless one. */
uint32_t fw_handle_new(struct fw_images *images);
uint32_t fw_table_new(struct fw_images *images);
uint32_t fw_memory_new(struct fw_images *images);
struct fw_image fw_image_new(struct fw_images *images);
struct fw_image fw_image_shared(struct fw_images *images, struct fw_image of);

/* The struct file of a file that is read without a descriptor, FW_NONE if there is none. */
uint32_t fw_other(const struct fw_images *images, uint32_t memory, uint32_t file);
void fw_other_set(struct fw_images *images, uint32_t memory, uint32_t file, uint32_t handle);

/* A memory's record of a file: a new one (NULL: error), or NULL if there is none. */
struct fw_of_file *fw_of_file(struct fw_images *images, uint32_t memory, uint32_t file);
const struct fw_of_file *fw_if_of_file(const struct fw_images *images, uint32_t memory,
                                       uint32_t file);

/* Count ``more`` that is held; false: error. */
bool fw_hold(struct fw_images *images, size_t more);

#endif
