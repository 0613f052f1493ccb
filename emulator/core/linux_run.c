/* A whole program under one window: emulator/linux/reference.py. */
#include "linux_kernel.h"

#include <stdlib.h>

static const uint64_t LARGEST = UINT64_C(1) << 60;
static const int64_t UNKNOWN_SIZE = INT64_C(1) << 48; /* bytes */

/* file_ra_state_init: what a struct file has after open. */
static void
open_file(const struct lx_kernel *k, struct lx_handle *file)
{
    const struct lx_inode *inode = file->inode;
    int64_t window = inode->window < 0 ? k->window : inode->window;
    if (inode->block_pages && !k->rules->block_window)
        window = 0;
    file->state = (struct lx_state){.pages = window, .prev_page = -1};
}

/* generic_fadvise. */
static void
advise(const struct lx_kernel *k, struct lx_handle *file, int advice)
{
    struct lx_handle fresh = {.inode = file->inode};
    open_file(k, &fresh);
    struct lx_state *state = &file->state;
    if (advice == LX_RANDOM) {
        state->random = k->rules->random_flag;
        if (!k->rules->random_flag)
            state->pages = 0;
    } else {
        state->random = false;
        state->pages = (advice == LX_SEQUENTIAL ? 2 : 1) * fresh.state.pages;
    }
}

static void
set_present(struct lx_kernel *k, struct lx_inode *inode, uint64_t at, uint64_t pages)
{
    for (uint64_t page = at; page < at + pages && !k->arena.failed; page++)
        lx_insert(&k->arena, &inode->tree, (struct lx_folio){page, 0}, false);
}

static struct lx_inode *
fresh_inode(struct lx_kernel *k, uint32_t row)
{
    struct lx_inode *inode = &k->inodes[row];
    if (inode->stamp != k->stamp) {
        inode->tree = (struct lx_tree){.xa_shift = -LX_SLOT_BITS};
        inode->stamp = k->stamp;
    }
    return inode;
}

static struct lx_handle *
fresh_handle(struct lx_kernel *k, uint32_t row)
{
    struct lx_handle *handle = &k->handles[row];
    if (handle->stamp != k->stamp) {
        handle->inode = fresh_inode(k, k->program->handles[row]);
        handle->stamp = k->stamp;
        open_file(k, handle);
    }
    return handle;
}

static struct lx_area *
fresh_area(struct lx_kernel *k, uint32_t row)
{
    const struct lx_mapping *mapping = &k->program->mappings[row];
    struct lx_area *area = &k->areas[row];
    if (area->stamp != k->stamp) {
        area->file = fresh_handle(k, mapping->handle);
        area->start = (int64_t)mapping->start;
        area->pages = (int64_t)mapping->pages;
        area->address = (int64_t)mapping->address;
        area->flags = mapping->flags;
        area->filled = (struct lx_tree){.plain = true};
        area->stamp = k->stamp;
    }
    return area;
}

static void
run_one(struct lx_kernel *k, const struct lx_operation *o)
{
    switch (o->op) {
    case LX_FAULT:
        lx_fault(k, fresh_area(k, o->mapping), (int64_t)o->at, o->length > 0);
        break;
    case LX_OPEN:
        open_file(k, fresh_handle(k, o->handle));
        break;
    case LX_READ:
        lx_read(k, fresh_handle(k, o->handle), o->at, o->length);
        break;
    case LX_WILLNEED:
        lx_willneed(k, fresh_handle(k, o->handle), (int64_t)o->at, (int64_t)o->length);
        break;
    case LX_SINGLE:
        lx_read_single(k, fresh_inode(k, o->handle), (int64_t)o->at);
        break;
    case LX_PRESENT:
        set_present(k, fresh_inode(k, o->handle), o->at, o->length);
        break;
    default:
        advise(k, fresh_handle(k, o->handle), o->op);
    }
}

/* Run operations [from, to) with one window; nothing is left of what ran before. */
static int
run_part(struct lx_kernel *k, size_t from, size_t to, int64_t window)
{
    k->window = window;
    k->stamp++;
    lx_reset(&k->arena);
    for (size_t i = from; i < to && !k->arena.failed; i++)
        run_one(k, &k->program->operations[i]);
    return k->arena.failed ? LX_NO_MEMORY : LX_OK;
}

static uint32_t
file_of(const struct lx_program *p, const struct lx_operation *o)
{
    if (o->op == LX_SINGLE || o->op == LX_PRESENT)
        return o->handle;
    return p->handles[o->op == LX_FAULT ? p->mappings[o->mapping].handle : o->handle];
}

/* All windows over what is done to one file, then the next file: little memory stays in use. */
static int
run_all(struct lx_kernel *k, const int64_t *windows, size_t n_windows)
{
    const struct lx_program *p = k->program;
    for (size_t from = 0, to; from < p->n_operations; from = to) {
        uint32_t file = file_of(p, &p->operations[from]);
        to = p->by_file ? from + 1 : p->n_operations;
        while (to < p->n_operations && file_of(p, &p->operations[to]) == file)
            to++;
        for (size_t i = 0; i < n_windows; i++) {
            k->requests = k->counts->requests + i * p->n_groups;
            k->pages = k->counts->pages + i * p->n_groups;
            int error = run_part(k, from, to, windows[i]);
            if (error)
                return error;
        }
    }
    return LX_OK;
}

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
    for (size_t i = 0; i < p->n_files; i++)
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
        {machine->page_size, 512},  {machine->io_pages, 0},           {machine->fault_around, 1},
        {machine->table_pages, 1},  {machine->exec_order, 0},         {machine->max_sectors_kb, 1},
        {machine->max_segments, 1}, {machine->max_segment_size, 512},
    };
    for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
        if (values[i][0] < values[i][1] || values[i][0] > most)
            return false;
    return machine->exec_order < 20;
}

static int
check(const struct lx_kernel *k, const int64_t *windows, size_t n_windows)
{
    const struct lx_program *p = k->program;
    for (size_t i = 0; i < n_windows; i++)
        if (windows[i] < 0 || windows[i] > LX_MAX_WINDOW)
            return LX_BAD_LIMIT;
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

static int
set_up(struct lx_kernel *k)
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

int
lx_emulate(const struct lx_program *program, const struct lx_rules *rules,
           const struct lx_machine *machine, const int64_t *windows, size_t n_windows,
           struct lx_counts *counts)
{
    struct lx_kernel k = {.rules = rules, .machine = machine, .program = program, .counts = counts};
    int error = check(&k, windows, n_windows);
    if (!error)
        error = set_up(&k);
    if (!error)
        error = run_all(&k, windows, n_windows);
    lx_free(&k.arena);
    free(k.inodes);
    free(k.handles);
    free(k.areas);
    free(k.run);
    return error;
}

static const char *const TEXTS[][2] = {
    [-LX_NO_MEMORY] = {"not enough memory to emulate the readahead", "emulate fewer windows"},
    [-LX_BAD_ROW] = {"an operation refers to a row that is not there",
                     "the capture is damaged: record again"},
    [-LX_BAD_PAGE] = {"a page or a length is out of range", "the capture is damaged: record again"},
    [-LX_BAD_LIMIT] = {"a window, a size or a limit of the device is out of range",
                       "choose other windows; else the capture is damaged: record again"},
    [-LX_BAD_OP] = {"an operation is of no known kind", "the capture is damaged: record again"},
};

const char *
lx_message(int error)
{
    return TEXTS[-error][0];
}

const char *
lx_remedy(int error)
{
    return TEXTS[-error][1];
}
