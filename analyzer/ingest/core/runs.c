#include "runs.h"

#include <stdlib.h>
#include <string.h>

bool
ev_runs_valid(const struct ev_runs *runs)
{
    if (runs->starts[0] != 0 || runs->starts[runs->n] != runs->n_places)
        return false;
    for (size_t i = 0; i < runs->n; i++)
        if (runs->starts[i] > runs->starts[i + 1])
            return false;
    return true;
}

/* Merges the ordered [0, middle) and [middle, n); spare has room for middle places. */
static void
merge_halves(struct ev_place *places, size_t middle, size_t n, struct ev_place *spare)
{
    size_t left = 0, right = middle, out = 0;

    memcpy(spare, places, middle * sizeof(*places));
    while (left < middle) {
        if (right < n && places[right].time_ns < spare[left].time_ns)
            places[out++] = places[right++];
        else
            places[out++] = spare[left++];
    }
}

/* Merge sort, bottom up; halves already in order (nearly all of them) are left alone. */
static void
sort_run(struct ev_place *places, size_t n, struct ev_place *spare)
{
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t start = 0; n - start > width; start += 2 * width) {
            size_t rest = n - start;
            size_t span = rest < 2 * width ? rest : 2 * width;
            struct ev_place *half = places + start;

            if (half[width].time_ns < half[width - 1].time_ns)
                merge_halves(half, width, span, spare);
            if (rest <= 2 * width)
                break;
        }
    }
}

static bool
in_order(const struct ev_place *places, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (places[i].time_ns < places[i - 1].time_ns)
            return false;
    return true;
}

int
ev_sort_runs(struct ev_runs *runs)
{
    struct ev_place *spare = NULL;
    int ret = EV_OK;

    if (!ev_runs_valid(runs))
        return EV_ERR_RUNS;
    for (size_t i = 0; i < runs->n; i++) {
        size_t n = (size_t)(runs->starts[i + 1] - runs->starts[i]);
        if (n == 0) /* places may be NULL */
            continue;
        struct ev_place *run = runs->places + runs->starts[i];

        if (in_order(run, n))
            continue;
        if (spare == NULL)
            spare = malloc(runs->n_places * sizeof(*spare));
        if (spare == NULL) {
            ret = EV_ERR_NO_MEMORY;
            goto out;
        }
        sort_run(run, n, spare);
    }
out:
    free(spare);
    return ret;
}
