/* The one-pass method. Take the first touches of a file in page order. The parent of a page is
 * the nearest lower page touched earlier.
 *
 * Lemma: a page hits under w iff its nearest missed ancestor is within w. Proof: let q be the
 * earliest touched of the misses whose request covers p. Were q no ancestor, some r between q
 * and p was touched before q. r cannot have missed (it would be an earlier cover of p), so an
 * earlier miss s covers r. If s reaches p, it is an earlier cover of p; if it does not, s lies
 * below q and covers q as well, which then did not miss. Both contradict.
 *
 * So one vector over the windows, handed from parent to child, decides every hit; the last
 * child takes its parent's vector over, and no page further than the largest window matters,
 * hence at most max_window + 1 vectors live.
 */
#include "fixed_window.h"

#include "sweep_simd.h"
#include "touches.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { CACHE_LINE = 64 };

struct walk {
    const struct sweep_loop *loop;
    struct sweep sweep;
    uint32_t max_window;
    uint32_t *chain; /* live ancestors, a ring: indexes of touches in page order */
    uint32_t ring;   /* its length, a power of two */
    uint32_t bottom, top;
    uint16_t tail; /* gap from the last touch of the file before to its end */
    struct step steps[STEPS_AT_ONCE];
    size_t n_steps, max_steps;
    int64_t all_steps, all_gaps;
};

static const struct {
    const char *message, *remedy;
} ERRORS[] = {
    [-FW_OK] = {.message = "success", .remedy = "nothing to do"},
    [-FW_NO_MEMORY] = {.message = "not enough memory to emulate the windows",
                       .remedy = "emulate fewer accesses or a smaller largest window"},
    [-FW_BAD_WINDOW] = {.message = "the largest window is out of range",
                        .remedy = "choose a largest window between 0 and 16383 pages"},
    [-FW_BAD_FILE] = {.message = "an access names a file that is not in file_pages",
                      .remedy = "pass file rows between 0 and len(file_pages) - 1"},
    [-FW_BAD_LENGTH] = {.message = "a file has a negative length",
                        .remedy = "pass lengths in pages, or -1 where the length is unknown"},
    [-FW_TOO_MANY] = {.message = "there are more than 4294967294 accesses",
                      .remedy = "split the recording by device or by time"},
    [-FW_NO_AVX2] = {.message = "this machine or this build has no AVX2",
                     .remedy = "use isa=\"auto\""},
};

static int
known(int error)
{
    return error <= 0 && error >= FW_LAST_ERROR;
}

const char *
fw_message(int error)
{
    return known(error) ? ERRORS[-error].message : "unknown error";
}

const char *
fw_remedy(int error)
{
    return known(error) ? ERRORS[-error].remedy : "report it as a bug";
}

static void *
aligned(size_t count, size_t size)
{
    size_t bytes = (count * size + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    return aligned_alloc(CACHE_LINE, bytes);
}

static size_t
lanes(const struct walk *w)
{
    return w->sweep.tiles * w->loop->lanes;
}

static void
initialise(struct walk *w)
{
    struct sweep *s = &w->sweep;
    for (size_t tile = 0; tile < s->tiles; tile++)
        memset(s->slots + tile * s->n_slots * w->loop->lanes, 0, w->loop->lanes * sizeof *s->slots);
    memset(s->last, 0, lanes(w) * sizeof *s->last);
    memset(s->hits, 0, lanes(w) * sizeof *s->hits);
    memset(s->unread, 0, lanes(w) * sizeof *s->unread);
    for (size_t window = 0; window < lanes(w); window++) {
        s->reach[window] = (uint16_t)(window + 1);
        s->reciprocal[window] = window ? (uint16_t)(65536 / (window + 1)) : UINT16_MAX;
    }
}

static int
walk_alloc(struct walk *w, uint32_t max_window, enum fw_isa isa)
{
    *w = (struct walk){.loop = sweep_loop_for(isa), .max_window = max_window, .ring = 1};
    if (!w->loop)
        return FW_NO_AVX2;
    while (w->ring <= max_window)
        w->ring *= 2;
    w->max_steps = sweep_max_steps(max_window);
    struct sweep *s = &w->sweep;
    s->tiles = max_window / w->loop->lanes + 1;
    s->n_slots = w->ring + 1;
    s->slots = aligned(s->n_slots * lanes(w), sizeof *s->slots);
    s->last = aligned(lanes(w), sizeof *s->last);
    s->reach = aligned(lanes(w), sizeof *s->reach);
    s->reciprocal = aligned(lanes(w), sizeof *s->reciprocal);
    s->hits = aligned(lanes(w), sizeof *s->hits);
    s->unread = aligned(lanes(w), sizeof *s->unread);
    w->chain = malloc(w->ring * sizeof *w->chain);
    if (!s->slots || !s->last || !s->reach || !s->reciprocal || !s->hits || !s->unread || !w->chain)
        return FW_NO_MEMORY;
    initialise(w);
    return FW_OK;
}

static void
walk_free(struct walk *w)
{
    free(w->sweep.slots);
    free(w->sweep.last);
    free(w->sweep.reach);
    free(w->sweep.reciprocal);
    free(w->sweep.hits);
    free(w->sweep.unread);
    free(w->chain);
}

static void
flush(struct walk *w)
{
    w->loop->run(&w->sweep, w->steps, w->n_steps);
    w->n_steps = 0;
}

/* Whether a step continues where the previous one ended: see MAX_RUN. */
static bool
continues(const struct step *before, const struct step *step)
{
    return step->distance == 1 && step->gap == 1 && step->parent == step->self &&
           before->distance == 1 && before->gap == 1 && before->parent == before->self &&
           before->self == step->self && before->run < MAX_RUN;
}

static void
emit(struct walk *w, struct step step)
{
    w->all_steps++;
    w->all_gaps += step.gap;
    if (w->n_steps && continues(&w->steps[w->n_steps - 1], &step)) {
        w->steps[w->n_steps - 1].run++;
        return;
    }
    if (w->n_steps == w->max_steps)
        flush(w);
    step.run = 1;
    w->steps[w->n_steps++] = step;
}

static uint16_t
clamp(const struct walk *w, uint64_t pages)
{
    return (uint16_t)(pages > w->max_window ? w->max_window + 1 : pages);
}

static uint32_t
ancestor(const struct walk *w, uint32_t at)
{
    return w->chain[at & (w->ring - 1)];
}

static uint16_t
slot(const struct walk *w, uint32_t at)
{
    return (uint16_t)((at & (w->ring - 1)) + 1);
}

/* Drop ancestors that touch i is not a descendant of, and those that no window reaches. */
static void
prune(struct walk *w, const struct touch *items, uint32_t i)
{
    while (w->bottom < w->top && items[ancestor(w, w->top - 1)].next_lower == i)
        w->top--;
    while (w->bottom < w->top && items[i].page - items[ancestor(w, w->bottom)].page > w->max_window)
        w->bottom++;
}

static struct step
place(struct walk *w, const struct touch *items, uint32_t i)
{
    struct step step = {.distance = clamp(w, UINT64_MAX)};
    if (w->bottom < w->top) {
        const struct touch *parent = &items[ancestor(w, w->top - 1)];
        step.parent = slot(w, w->top - 1);
        step.distance = (uint16_t)(items[i].page - parent->page);
        if (parent->next_lower == items[i].next_lower)
            w->top--; /* the last child: the parent's vector is no longer needed */
    }
    step.self = slot(w, w->top);
    w->chain[w->top++ & (w->ring - 1)] = i;
    return step;
}

/* Pages from the last touch to the end of its file. A page that was touched beyond the known
 * length shows that the file was longer: it then ends after that page. */
static uint16_t
tail_of(const struct walk *w, uint64_t page, int64_t length)
{
    if (length < 0)
        return clamp(w, UINT64_MAX);
    return (uint64_t)length > page ? clamp(w, (uint64_t)length - page) : 1;
}

static void
walk_file(struct walk *w, const struct touch *items, size_t n, int64_t length)
{
    w->bottom = w->top = 0;
    for (uint32_t i = 0; i < n; i++) {
        prune(w, items, i);
        struct step step = place(w, items, i);
        step.gap = i ? clamp(w, items[i].page - items[i - 1].page) : w->tail;
        emit(w, step);
    }
    if (n)
        w->tail = tail_of(w, items[n - 1].page, length);
}

/* A last step closes the last file's tail; as it misses under every window, it is subtracted. */
static void
finish(struct walk *w, struct fw_counts *counts)
{
    emit(w, (struct step){.self = 1, .distance = clamp(w, UINT64_MAX), .gap = w->tail});
    flush(w);
    for (size_t window = 0; window <= w->max_window; window++) {
        counts->requests[window] = w->all_steps - 1 - w->sweep.hits[window];
        counts->loaded[window] = w->all_gaps - w->sweep.unread[window];
    }
    counts->tap = w->all_steps - 1;
}

static void
walk_all(struct walk *w, const struct fw_accesses *a, struct touches *t)
{
    size_t start = 0;
    for (size_t f = 0; f < a->n_files; f++) {
        size_t n = touches_prepare(t->items + start, t->end[f] - start, t->scratch);
        walk_file(w, t->items + start, n, a->file_pages[f]);
        start = t->end[f];
    }
}

int
fw_run(const struct fw_accesses *accesses, uint32_t max_window, enum fw_isa isa,
       struct fw_counts *counts)
{
    if (max_window > FW_MAX_WINDOW)
        return FW_BAD_WINDOW;
    struct touches touches = {0};
    struct walk walk;
    int error = walk_alloc(&walk, max_window, isa);
    if (!error)
        error = touches_alloc(&touches, accesses);
    if (!error) {
        walk_all(&walk, accesses, &touches);
        finish(&walk, counts);
    }
    touches_free(&touches);
    walk_free(&walk);
    return error;
}
