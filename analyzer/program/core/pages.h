/* Sets of pages of files: 64 pages a word, of which every set has one. */
#ifndef FOREREAD_FOLLOW_PAGES_H
#define FOREREAD_FOLLOW_PAGES_H

#include "store.h"

enum fw_set {
    FW_TOUCHED,   /* by operations */
    FW_ADVISED,   /* advice was given on them */
    FW_ENTERED,   /* the page cache */
    FW_RESIDENT,  /* before the run, as the recording says */
    FW_NEIGHBOUR, /* cached before, inferred from mapped pages */
    FW_ALONE,     /* read, and no operation touches them */
    FW_N_SETS
};

struct fw_word {
    uint64_t number; /* of its first page / 64 */
    uint64_t bits[FW_N_SETS];
    uint32_t file;
};

/* All zero to begin with, but ``most`` words. */
struct fw_pages {
    struct fw_pairs index;
    struct fw_word *words;
    size_t n, room, most;
};

/* Add pages [first, end) to a set; returns enum fw_error. */
int fw_pages_add(struct fw_pages *pages, enum fw_set set, uint32_t file, uint64_t first,
                 uint64_t end);

/* Whether a set has any of pages [first, end). */
bool fw_pages_any(const struct fw_pages *pages, enum fw_set set, uint32_t file, uint64_t first,
                  uint64_t end);

static inline bool
fw_pages_has(const struct fw_pages *pages, enum fw_set set, uint32_t file, uint64_t page)
{
    return fw_pages_any(pages, set, file, page, page + 1);
}

/* Sort the words by file and number: nothing may be added or asked any more. */
void fw_pages_sort(struct fw_pages *pages);

void fw_pages_free(struct fw_pages *pages);

#endif
