/*
 * The kernel's own readahead under one window: the algorithm of emulator/stepwise/ in C.
 * Function by function the same as the plain Python there, which documents each function.
 */
#ifndef LX_KERNEL_H
#define LX_KERNEL_H

#include "rules.h"
#include "tree.h"

#define LX_WARN_UNUSED __attribute__((warn_unused_result))

enum lx_error {
    LX_OK = 0,
    LX_NO_MEMORY = -1,
    LX_BAD_ROW = -2,
    LX_BAD_PAGE = -3,
    LX_BAD_OP = -4,
    LX_BAD_LIMIT = -5,
    LX_BAD_STEP = -6,
    LX_BAD_DEVICE = -7,
    LX_TOO_OFTEN = -8,
};
#define LX_LAST_ERROR LX_TOO_OFTEN
#define LX_MAX_WINDOW (1 << 20)          /* pages */
#define LX_MAX_PAGES (UINT64_C(1) << 36) /* of a file: 256 TiB of 4 KiB pages */

/* The longest request: sysfs rounds BLK_SAFE_MAX_SECTORS down (include/linux/blkdev.h). */
static inline int64_t
lx_max_sectors(const struct lx_machine *limits)
{
    return limits->max_sectors_kb == 127 ? 255 : limits->max_sectors_kb * 2;
}

/* The longest request of a squashfs block: each page of its bio is a segment. */
static inline int64_t
lx_block_sectors(const struct lx_machine *limits)
{
    int64_t most = lx_max_sectors(limits), unit = limits->page_size / 512;
    return limits->max_segments < most / unit ? limits->max_segments * unit : most;
}

/* Records of emulator/linux/operations.py (aligned numpy dtypes). */
enum {
    LX_OPEN,
    LX_READ,
    LX_FAULT,
    LX_NORMAL,
    LX_SEQUENTIAL,
    LX_RANDOM,
    LX_WILLNEED,
    LX_SINGLE,
    LX_PRESENT
};
/* Cause of emulator/linux/operations.py: the rule that reads a page. */
enum lx_cause {
    LX_BY_ITSELF,
    LX_ASKED,
    LX_BY_SEQUENCE,
    LX_HISTORY,
    LX_BY_MARKER,
    LX_AROUND,
    LX_BY_EXEC,
    LX_BY_HUGE,
    LX_ADVICE,
    LX_BLOCK
};
enum { LX_EXEC = 1, LX_MAP_SEQUENTIAL = 2, LX_MAP_RANDOM = 4, LX_HUGE = 8, LX_SHARED = 16 };

struct lx_operation {
    uint8_t op;
    uint32_t handle, mapping;
    uint64_t at, length;
};

struct lx_mapping {
    uint32_t handle;
    uint64_t start, pages, address;
    uint8_t flags;
};

struct lx_file {
    int64_t size;
    uint8_t large_folios;
    uint32_t block_pages;
    int32_t window;
};

struct lx_extent {
    uint32_t file;
    uint64_t at, sector, sectors;
    uint8_t read;
};

struct lx_insert {
    uint32_t file;
    uint64_t index;
    uint32_t order, run, operation, cause;
};

struct lx_program {
    const struct lx_operation *operations;
    size_t n_operations;
    const struct lx_mapping *mappings;
    size_t n_mappings;
    const uint32_t *handles;
    size_t n_handles;
    const struct lx_file *files;
    size_t n_files;
    const struct lx_extent *extents; /* sorted by file and place in it */
    size_t n_extents;
    const uint32_t *group; /* of each file, or NULL: nothing is counted */
    size_t n_groups;
    bool by_file; /* operations on one file are adjacent */
};

/* Counts by group, one window after the other; ``inserts`` is NULL, or a growing log. */
struct lx_counts {
    int64_t *requests, *pages;
    struct lx_insert *inserts;
    size_t n_inserts, room;
    bool log;
};

struct lx_inode {
    struct lx_tree tree,
        coming; /* ``coming``: the request that reads each page, if there is a disk */
    struct lx_tree held, reclaimed; /* in little memory: rows of folios, ages of pages */
    uint32_t row, block_pages;
    int64_t last, window; /* last page, -1 of an empty file */
    uint64_t size;
    bool large_folios;
    size_t extents, n_extents;
    uint64_t stamp; /* of the kernel when it was last made new */
};

struct lx_state {
    int64_t pages, start, size, async_size, order, prev_page, marked, miss, hit;
    int64_t ahead_start, ahead_size, cache_hit;
    bool random, missed, in_cache;
};

struct lx_handle {
    struct lx_inode *inode;
    struct lx_state state;
    uint64_t stamp;
};

struct lx_area {
    struct lx_handle *file;
    int64_t start, pages, address;
    unsigned flags;
    struct lx_tree filled;
    uint64_t stamp;
};

/* ``folios`` folios of one order, one after the other, that one rule reads. */
struct lx_piece {
    uint64_t index;
    unsigned order;
    uint32_t folios;
    enum lx_cause cause;
};

enum { LX_LISTS = 4, LX_TIERS = 4, LX_FIRST_YOUNGEST = 3 };

/* What became of the pages of one generation, by tier: reclaimed, missed again, protected. */
struct lx_history {
    int64_t evicted[LX_TIERS], refaulted[LX_TIERS], protected[LX_TIERS];
};

/*
 * Folios in memory, if it holds ``limit`` pages of files; 0: it holds all. ``sizes`` are pages by
 * list, or by generation.
 */
struct lx_memory {
    const struct lx_lists *lists;
    struct lx_held *held;
    size_t room;
    uint32_t rows, unused; /* ``unused``: the first row of a list of such */
    int64_t limit, pages, sizes[LX_LISTS], folios[LX_LISTS];
    int64_t full; /* that many pages could not be reclaimed: try again when there are more */
    /* Two lists: pages that were reclaimed or became active; a page became active when it was read
     * again. */
    uint32_t age;
    bool refaulted;
    /* Generations, with the averages of earlier ones. */
    uint32_t oldest, youngest;
    struct lx_history history[LX_LISTS];
    int64_t missed[LX_TIERS], total[LX_TIERS];
};

struct lx_kernel {
    const struct lx_rules *rules;
    const struct lx_machine *machine;
    const struct lx_program *program;
    struct lx_counts *counts;
    struct lx_arena arena;
    struct lx_inode *inodes;
    struct lx_handle *handles;
    struct lx_area *areas;
    int64_t window;
    int64_t *requests, *pages; /* of the window */
    uint64_t stamp;            /* files, handles and areas of another one are as new */
    struct lx_piece *run;      /* the reads of the ->readahead call in progress, in order */
    size_t run_length, run_room;
    uint32_t runs;
    uint32_t operation;  /* the row in progress; not kept in a timed run */
    enum lx_cause cause; /* of the current read */
    int64_t stop;        /* where the mapping of the fault in progress ends readahead; 0: nowhere */
    int64_t least_order; /* of the folios of the fault's own window */
    bool faulting;       /* a fault is in progress, of a mapping that was given no advice */
    struct lx_memory memory;
    struct lx_disk *disk; /* NULL: reads are counted, and take no time */
};

static inline int64_t
lx_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t
lx_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t
lx_log_two(int64_t number)
{
    return number > 1 ? 63 - __builtin_clzll((uint64_t)number) : 0;
}

static inline int64_t
lx_divide_up(int64_t a, int64_t b)
{
    return a / b + (a % b > 0);
}

/* Pages [first, behind) of one folio that must have been read before an operation continues. */
struct lx_needed {
    struct lx_inode *inode;
    int64_t first, behind;
};

#endif
