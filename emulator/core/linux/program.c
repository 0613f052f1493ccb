/* A program before it runs: whether all its rows and sizes can be, and its files. */
#include "program.h"

#include "memory.h"

#include <stdlib.h>

static const uint64_t LARGEST = UINT64_C(1) << 60;
static const int64_t UNKNOWN_SIZE = INT64_C(1) << 48; /* bytes */

static int
check_one(const struct lx_program *p, const struct lx_operation *o, int64_t page_size)
{
    bool of_file = o->op == LX_SINGLE || o->op == LX_PRESENT;
    size_t rows = o->op == LX_FAULT ? p->n_mappings : of_file ? p->n_files : p->n_handles;
    uint64_t unit = o->op == LX_READ ? (uint64_t)page_size : 1;
    if (o->op > LX_PRESENT)
        return LX_BAD_OP;
    if ((o->op == LX_FAULT ? o->mapping : o->handle) >= rows)
        return LX_BAD_ROW;
    if (o->at / unit >= LX_MAX_PAGES || o->length > LARGEST ||
        (o->op == LX_PRESENT && o->length > LX_MAX_PAGES - o->at))
        return LX_BAD_PAGE;
    if (o->op != LX_FAULT)
        return LX_OK;
    const struct lx_mapping *mapping = &p->mappings[o->mapping];
    bool inside = o->at >= mapping->start && o->at - mapping->start < mapping->pages;
    return inside ? LX_OK : LX_BAD_PAGE;
}

static int
check_rows(const struct lx_program *p)
{
    for (size_t i = 0; p->group && i < p->n_files; i++)
        if (p->group[i] >= p->n_groups)
            return LX_BAD_ROW;
    for (size_t i = 0; i < p->n_handles; i++)
        if (p->handles[i] >= p->n_files)
            return LX_BAD_ROW;
    for (size_t i = 0; i < p->n_extents; i++)
        if (p->extents[i].file >= p->n_files)
            return LX_BAD_ROW;
    for (size_t i = 0; i < p->n_mappings; i++) {
        const struct lx_mapping *mapping = &p->mappings[i];
        if (mapping->handle >= p->n_handles)
            return LX_BAD_ROW;
        if (mapping->start >= LX_MAX_PAGES || mapping->pages > LX_MAX_PAGES ||
            mapping->address > LARGEST)
            return LX_BAD_PAGE;
    }
    return LX_OK;
}

static bool
is_sound(const struct lx_machine *machine)
{
    const int64_t most = INT64_C(1) << 40;
    const int64_t values[][2] = {
        {machine->page_size, 512},    {machine->io_pages, 0},     {machine->fault_around, 1},
        {machine->table_pages, 1},    {machine->exec_order, 0},   {machine->credit_ns, 0},
        {machine->max_sectors_kb, 1}, {machine->max_segments, 1}, {machine->max_segment_size, 512},
        {machine->nr_requests, 1},    {machine->nr_writes, 1},    {machine->nr_driver_tags, 1},
        {machine->cache_pages, 0},    {machine->generations, 0},  {machine->code_stays, 0},
    };
    for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
        if (values[i][0] < values[i][1] || values[i][0] > most)
            return false;
    return machine->exec_order < 20;
}

int
lx_check_window(int64_t window)
{
    return window < 0 || window > LX_MAX_WINDOW ? LX_BAD_LIMIT : LX_OK;
}

int
lx_check(const struct lx_kernel *k)
{
    const struct lx_program *p = k->program;
    int error = is_sound(k->machine) ? check_rows(p) : LX_BAD_LIMIT;
    for (size_t i = 0; i < p->n_operations && !error; i++)
        error = check_one(p, &p->operations[i], k->machine->page_size);
    return error;
}

static void
set_inode(struct lx_inode *inode, const struct lx_file *file, uint32_t row, int64_t page_size)
{
    int64_t size = file->size < 0 || file->size > UNKNOWN_SIZE ? UNKNOWN_SIZE : file->size;
    inode->row = row;
    inode->block_pages = file->block_pages;
    inode->window = file->window;
    inode->size = (uint64_t)size;
    inode->last = lx_divide_up(size, page_size) - 1;
    inode->large_folios = file->large_folios;
}

int
lx_set_up(struct lx_kernel *k)
{
    const struct lx_program *p = k->program;
    k->inodes = calloc(p->n_files + 1, sizeof(*k->inodes));
    k->handles = calloc(p->n_handles + 1, sizeof(*k->handles));
    k->areas = calloc(p->n_mappings + 1, sizeof(*k->areas));
    if (!k->inodes || !k->handles || !k->areas)
        return LX_NO_MEMORY;
    for (size_t i = 0; i < p->n_files; i++)
        set_inode(&k->inodes[i], &p->files[i], (uint32_t)i, k->machine->page_size);
    for (size_t i = p->n_extents; i-- > 0;) {
        k->inodes[p->extents[i].file].extents = i;
        k->inodes[p->extents[i].file].n_extents++;
    }
    return LX_OK;
}

void
lx_tear_down(struct lx_kernel *k)
{
    lx_free(&k->arena);
    lx_memory_free(&k->memory);
    free(k->inodes);
    free(k->handles);
    free(k->areas);
    free(k->run);
}

static const struct {
    const char *message, *remedy;
} TEXTS[] = {
    [-LX_NO_MEMORY] = {.message = "not enough memory to emulate the readahead",
                       .remedy = "emulate fewer windows"},
    [-LX_BAD_ROW] = {.message = "an operation refers to a row that is not there",
                     .remedy = "the capture is damaged: record again"},
    [-LX_BAD_PAGE] = {.message = "a page or a length is out of range",
                      .remedy = "the capture is damaged: record again"},
    [-LX_BAD_LIMIT] = {.message = "a window, a size or a limit of the device is out of range",
                       .remedy = "choose other windows; else the capture is damaged: record again"},
    [-LX_BAD_STEP] =
        {.message = "a step takes a time that is out of range, or waits for one that does not "
                    "come before it",
         .remedy = "the capture is damaged: record again"},
    [-LX_BAD_DEVICE] = {.message = "a device that cannot be, or that takes longer than can be",
                        .remedy = "give other numbers, or calibrate again"},
    [-LX_TOO_OFTEN] = {.message = "a load repeats its steps too often while the run lasts",
                       .remedy = "predict without this load"},
    [-LX_BAD_OP] = {.message = "an operation is of no known kind",
                    .remedy = "the capture is damaged: record again"},
};

const char *
lx_message(int error)
{
    return TEXTS[-error].message;
}

const char *
lx_remedy(int error)
{
    return TEXTS[-error].remedy;
}
