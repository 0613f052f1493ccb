/* A whole program under one window: emulator/stepwise/replay.py. */
#include "run.h"

#include "memory.h"
#include "ondemand.h"
#include "program.h"
#include "submit.h"

/* file_ra_state_init: the state of a struct file after open. */
static void
open_file(const struct lx_kernel *k, struct lx_handle *file)
{
    const struct lx_inode *inode = file->inode;
    int64_t window = inode->window < 0 ? k->window : inode->window;
    if (inode->block_pages && !k->rules->block_window)
        window = 0;
    file->state = (struct lx_state){.pages = window, .prev_page = -1, .marked = -1};
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
    for (uint64_t page = at; page < at + pages && !k->arena.failed; page++) {
        struct lx_folio folio = {.index = page, .order = 0};
        if (lx_insert(&k->arena, &inode->tree, folio, false))
            lx_memory_enter(k, inode, folio);
    }
}

static struct lx_inode *
fresh_inode(struct lx_kernel *k, uint32_t row)
{
    struct lx_inode *inode = &k->inodes[row];
    if (inode->stamp != k->stamp) {
        inode->tree = (struct lx_tree){.xa_shift = -LX_SLOT_BITS};
        inode->coming = (struct lx_tree){.leaves = LX_NUMBERS};
        inode->held = inode->reclaimed = inode->coming;
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
        area->filled = (struct lx_tree){.leaves = LX_BITS};
        area->stamp = k->stamp;
    }
    return area;
}

static void
touch(struct lx_kernel *k, struct lx_area *area, int64_t page, bool write)
{
    enum lx_fault_left left = lx_fault_begin(k, area, page, write);
    if (left >= LX_FAULT_FINISH)
        lx_fault_end(k, area, page, write, left);
}

static void
run_one(struct lx_kernel *k, const struct lx_operation *o)
{
    switch (o->op) {
    case LX_FAULT:
        touch(k, fresh_area(k, o->mapping), (int64_t)o->at, o->length > 0);
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
        lx_memory_read(k, fresh_inode(k, o->handle), (int64_t)o->at);
        break;
    case LX_PRESENT:
        set_present(k, fresh_inode(k, o->handle), o->at, o->length);
        break;
    default:
        advise(k, fresh_handle(k, o->handle), o->op);
    }
}

void
lx_begin(struct lx_kernel *k, struct lx_call *call, const struct lx_operation *o)
{
    *call = (struct lx_call){.operation = o};
    if (o->op == LX_READ)
        call->reading = lx_read_begin(k, fresh_handle(k, o->handle), o->at, o->length);
    else if (o->op == LX_FAULT)
        call->area = fresh_area(k, o->mapping);
}

bool
lx_go_on(struct lx_kernel *k, struct lx_call *call, struct lx_needed *needed)
{
    const struct lx_operation *o = call->operation;
    int64_t page = (int64_t)o->at;
    bool first = !call->begun, write = o->length > 0;
    call->begun = true;
    if (o->op == LX_READ)
        return lx_read_on(k, &call->reading, needed);
    if (o->op == LX_FAULT && first) {
        *needed =
            (struct lx_needed){.inode = call->area->file->inode, .first = page, .behind = page + 1};
        call->left = lx_fault_begin(k, call->area, page, write);
        return call->left != LX_FAULT_OVER;
    }
    if (o->op == LX_FAULT && call->left >= LX_FAULT_FINISH)
        lx_fault_end(k, call->area, page, write, call->left);
    else if (first)
        run_one(k, o);
    if (o->op != LX_SINGLE || !first)
        return false;
    *needed =
        (struct lx_needed){.inode = fresh_inode(k, o->handle), .first = page, .behind = page + 1};
    return true;
}

void
lx_start(struct lx_kernel *k, int64_t window)
{
    k->window = window;
    k->stamp++;
    lx_reset(&k->arena);
    lx_memory_start(k);
}

/*
 * Whether this is a fault on a page that is mapped: nothing happens. Four faults in five are, which
 * is why they are left out before anything else.
 */
static inline bool
is_mapped(const struct lx_kernel *k, const struct lx_operation *o)
{
    if (o->op != LX_FAULT)
        return false;
    struct lx_area *area = &k->areas[o->mapping];
    return !k->memory.limit && area->stamp == k->stamp && lx_has(&area->filled, o->at);
}

/* Run operations [from, to) with one window. */
static int
run_part(struct lx_kernel *k, size_t from, size_t to, int64_t window)
{
    lx_start(k, window);
    for (size_t i = from; i < to && !k->arena.failed; i++) {
        const struct lx_operation *o = &k->program->operations[i];
        if (is_mapped(k, o))
            continue;
        k->operation = (uint32_t)i;
        run_one(k, o);
    }
    return k->arena.failed ? LX_NO_MEMORY : LX_OK;
}

static uint32_t
file_of(const struct lx_program *p, const struct lx_operation *o)
{
    if (o->op == LX_SINGLE || o->op == LX_PRESENT)
        return o->handle;
    return p->handles[o->op == LX_FAULT ? p->mappings[o->mapping].handle : o->handle];
}

/* All windows for the operations on one file, then the next file: this needs little memory. */
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

int
lx_emulate(const struct lx_program *program, const struct lx_rules *rules,
           const struct lx_machine *machine, const int64_t *windows, size_t n_windows,
           struct lx_counts *counts)
{
    struct lx_kernel k = {.rules = rules, .machine = machine, .program = program, .counts = counts};
    int error = lx_check(&k);
    for (size_t i = 0; i < n_windows && !error; i++)
        error = lx_check_window(windows[i]);
    if (!error)
        error = lx_set_up(&k);
    if (!error)
        error = run_all(&k, windows, n_windows);
    lx_tear_down(&k);
    return error;
}
