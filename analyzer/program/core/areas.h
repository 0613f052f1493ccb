/* Mappings (VMAs) in balanced trees: by virtual address, and by page of the file.
 *
 * Each node knows how far its subtree reaches, and its latest mapping, so that what holds a page,
 * or lies in a range, is found without looking at the others.
 */
#ifndef FOREREAD_FOLLOW_AREAS_H
#define FOREREAD_FOLLOW_AREAS_H

#include "store.h"

enum fw_tree { FW_BY_ADDRESS, FW_BY_PAGE, FW_N_TREES };

struct fw_link {
    uint64_t latest; /* order of the latest of the subtree */
    int64_t end;     /* the furthest end in the subtree */
    uint32_t child[2];
    uint8_t height;
};

/* Pages of a file, from ``start`` on, at virtual pages [first, end). */
struct fw_area {
    int64_t first, end, start;
    uint64_t order;        /* the greater, the later it was mapped */
    uint32_t handle, row;  /* row of its MAPPING, FW_NONE until it is used */
    uint32_t memory;       /* whose it is */
    uint32_t next, before; /* of the same handle, as long as its file is unknown */
    uint8_t flags;
    struct fw_link link[FW_N_TREES];
};

/* Item 0 stands for none. */
struct fw_areas {
    struct fw_area *items;
    size_t n, room;
    uint32_t free; /* first of those given back, by next */
};

struct fw_found {
    uint64_t order;
    int64_t first;
    uint32_t area;
};

struct fw_list {
    struct fw_found *items;
    size_t n, room;
};

/* A new area, 0: no memory. */
uint32_t fw_area_new(struct fw_areas *areas, const struct fw_area *area);
void fw_area_drop(struct fw_areas *areas, uint32_t area);

/* Both return the new root. */
uint32_t fw_tree_add(struct fw_areas *areas, enum fw_tree tree, uint32_t root, uint32_t area);
uint32_t fw_tree_remove(struct fw_areas *areas, enum fw_tree tree, uint32_t root, uint32_t area);

/* The latest area that holds a page of the file; 0: none. ``root`` is of FW_BY_PAGE. */
uint32_t fw_tree_latest(const struct fw_areas *areas, uint32_t root, int64_t page);

/* List the areas that overlap virtual pages [first, end), the earliest mapped first. */
bool fw_tree_over(const struct fw_areas *areas, uint32_t root, int64_t first, int64_t end,
                  struct fw_list *list);

static inline bool
fw_area_holds(const struct fw_area *area, int64_t page)
{
    return area->start <= page && page < area->start + (area->end - area->first);
}

#endif
