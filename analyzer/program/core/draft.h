/* The operations while they are written down; see ../../reference/draft.py. */
#ifndef FOREREAD_FOLLOW_DRAFT_H
#define FOREREAD_FOLLOW_DRAFT_H

#include "images.h"
#include "pages.h"

enum { FW_MOST_PAGES = 1 << 20 }; /* of one operation: no read(2) and no advice brings in more */

/* A page that was read before operation ``row``, perhaps by one before or after. */
struct fw_loose {
    uint64_t time_ns, page;
    size_t row;
    uint32_t file;
};

struct fw_draft {
    const struct fw_evidence *evidence;
    struct fw_images *images;
    struct fw_program *program;
    struct fw_pages pages;
    struct fw_loose *loose;
    size_t n_loose, room_loose;
    uint64_t now_ns;
    int error;
};

void fw_draft_free(struct fw_draft *draft);

/* A new struct file of a file. */
uint32_t fw_open(struct fw_draft *draft, uint32_t file);
/* Give a struct file its row, as its file is known. */
void fw_know(struct fw_draft *draft, uint32_t handle, uint32_t file);
/* Each adds an operation. fw_draft_read returns where the read ended, fw_draft_fault its row. */
int64_t fw_draft_read(struct fw_draft *draft, uint32_t handle, uint32_t file, int64_t position,
                      int64_t count);
size_t fw_draft_fault(struct fw_draft *draft, uint32_t area, uint32_t file, int64_t page);
void fw_draft_writes(struct fw_draft *draft, size_t row);
void fw_draft_advise(struct fw_draft *draft, uint8_t op, uint32_t handle);
void fw_draft_willneed(struct fw_draft *draft, uint32_t handle, uint32_t file, int64_t page,
                       int64_t pages);
void fw_draft_present(struct fw_draft *draft, uint32_t file, int64_t page);
void fw_draft_single(struct fw_draft *draft, uint32_t file, int64_t page);
/* Each notes pages. */
void fw_draft_entered(struct fw_draft *draft, uint32_t file, int64_t page, int64_t pages);
void fw_draft_cached(struct fw_draft *draft, const struct fw_piece *piece);
void fw_draft_mapped(struct fw_draft *draft, uint32_t file, int64_t first, int64_t end);
void fw_draft_hole(struct fw_draft *draft, uint32_t file, int64_t page);
void fw_draft_loose(struct fw_draft *draft, uint32_t file, int64_t page);

bool fw_draft_has(const struct fw_draft *draft, uint32_t file, int64_t page);
/* Pages of a file; below 1 if its size is unknown. */
int64_t fw_pages_of(const struct fw_draft *draft, uint32_t file);

#endif
