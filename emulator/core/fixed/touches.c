#include "touches.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SHORT = 40, DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS };

/* Count accesses by file into start[f + 1]; 0 or an fw_error. */
static int
count_by_file(const struct fw_accesses *a, size_t *start)
{
    for (size_t f = 0; f < a->n_files; f++)
        if (a->file_pages[f] < -1)
            return FW_BAD_LENGTH;
    for (size_t i = 0; i < a->n; i++) {
        if (a->file[i] >= a->n_files)
            return FW_BAD_FILE;
        start[a->file[i] + 1]++;
    }
    return FW_OK;
}

/* Turn counts into starts; returns the largest count. */
static size_t
accumulate(size_t *start, size_t n_files)
{
    size_t largest = 0;
    for (size_t f = 1; f <= n_files; f++) {
        if (start[f] > largest)
            largest = start[f];
        start[f] += start[f - 1];
    }
    return largest;
}

/* Put each access after those of its file; turns start[f] into the end of file f. */
static void
scatter(const struct fw_accesses *a, size_t *start, struct touch *items)
{
    for (size_t i = 0; i < a->n; i++) {
        struct touch *touch = &items[start[a->file[i]]++];
        touch->page = a->page[i];
        touch->rank = (uint32_t)i;
    }
}

int
touches_alloc(struct touches *t, const struct fw_accesses *a)
{
    *t = (struct touches){0};
    if (a->n >= UINT32_MAX || a->n > SIZE_MAX / sizeof *t->items)
        return FW_TOO_MANY;
    t->end = calloc(a->n_files + 1, sizeof *t->end);
    if (!t->end)
        return FW_NO_MEMORY;
    int error = count_by_file(a, t->end);
    if (error)
        return error;
    size_t largest = accumulate(t->end, a->n_files);
    t->items = malloc((a->n ? a->n : 1) * sizeof *t->items);
    t->scratch = malloc((largest ? largest : 1) * sizeof *t->scratch);
    if (!t->items || !t->scratch)
        return FW_NO_MEMORY;
    scatter(a, t->end, t->items);
    return FW_OK;
}

void
touches_free(struct touches *t)
{
    free(t->items);
    free(t->scratch);
    free(t->end);
    *t = (struct touches){0};
}

static bool
is_sorted(const struct touch *items, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (items[i - 1].page > items[i].page)
            return false;
    return true;
}

static void
insertion_sort(struct touch *items, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        struct touch moving = items[i];
        size_t at = i;
        for (; at > 0 && items[at - 1].page > moving.page; at--)
            items[at] = items[at - 1];
        items[at] = moving;
    }
}

/* One stable pass of a radix sort. */
static void
sort_digit(const struct touch *from, struct touch *to, size_t n, unsigned shift)
{
    size_t at[DIGITS + 1] = {0};
    for (size_t i = 0; i < n; i++)
        at[(from[i].page >> shift & (DIGITS - 1)) + 1]++;
    for (size_t digit = 1; digit < DIGITS; digit++)
        at[digit] += at[digit - 1];
    for (size_t i = 0; i < n; i++)
        to[at[from[i].page >> shift & (DIGITS - 1)]++] = from[i];
}

/* Least significant digit first, leaving out digits that all pages share. */
static void
radix_sort(struct touch *items, size_t n, struct touch *scratch)
{
    uint64_t differing = 0;
    for (size_t i = 1; i < n; i++)
        differing |= items[i].page ^ items[0].page;
    struct touch *from = items, *to = scratch;
    for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
        if (!(differing >> shift & (DIGITS - 1)))
            continue;
        sort_digit(from, to, n, shift);
        struct touch *swap = from;
        from = to;
        to = swap;
    }
    if (from != items)
        memcpy(items, from, n * sizeof *items);
}

/* Every sort here is stable, so the first of equal pages is the first touch. */
static size_t
drop_repeats(struct touch *items, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || items[kept - 1].page != items[i].page)
            items[kept++] = items[i];
    return kept;
}

static void
link_next_lower(struct touch *items, size_t n)
{
    for (size_t i = n; i-- > 0;) {
        size_t next = i + 1;
        while (next < n && items[next].rank > items[i].rank)
            next = items[next].next_lower;
        items[i].next_lower = (uint32_t)next;
    }
}

size_t
touches_prepare(struct touch *items, size_t n, struct touch *scratch)
{
    if (!is_sorted(items, n)) {
        if (n <= SHORT)
            insertion_sort(items, n);
        else
            radix_sort(items, n, scratch);
    }
    size_t kept = drop_repeats(items, n);
    link_next_lower(items, kept);
    return kept;
}
