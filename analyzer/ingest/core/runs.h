/* Places of records, in runs that are each in time order. */
#ifndef FOREREAD_RUNS_H
#define FOREREAD_RUNS_H

#include "errors.h"
#include "events.h"

struct ev_place {
    uint64_t time_ns;
    uint64_t offset; /* of the record (its common_type) within the data */
    uint32_t size;   /* bytes of the record */
    uint16_t cpu;
    uint16_t spec; /* index into ev_specs.items */
};

/* Run i is places[starts[i]] to places[starts[i + 1]], exclusive; starts has n + 1 values. */
struct ev_runs {
    struct ev_place *places;
    size_t n_places;
    const uint64_t *starts;
    size_t n;
};

/* Whether the runs lie one after the other and fill the places. */
bool ev_runs_valid(const struct ev_runs *runs);

/* Brings each run into time order, keeping the order of equal times. */
int ev_sort_runs(struct ev_runs *runs);

#endif
