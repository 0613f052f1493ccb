/* First touches: accesses grouped by file, sorted by page, duplicates dropped. */
#ifndef FOREREAD_TOUCHES_H
#define FOREREAD_TOUCHES_H

#include "accesses.h"

struct touch {
    uint64_t page;
    uint32_t rank;       /* time order inside the file */
    uint32_t next_lower; /* index of the next touch in page order with a lower rank */
};

struct touches {
    struct touch *items;   /* all files, one after the other */
    struct touch *scratch; /* room for the file with most accesses */
    size_t *end;           /* end[f]: where the accesses of file f end in items */
};

/* Group the accesses by file, time order kept; 0 or an fw_error. Free in any case. */
__attribute__((warn_unused_result)) int touches_alloc(struct touches *touches,
                                                      const struct fw_accesses *accesses);
void touches_free(struct touches *touches);

/* Sort one file's n accesses by page, keep the first touch of each page, link next_lower.
 * Returns the number of distinct pages. */
size_t touches_prepare(struct touch *items, size_t n, struct touch *scratch);

#endif
