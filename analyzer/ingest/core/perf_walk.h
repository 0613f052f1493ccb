/* The walk over the data section of a perf.data file: samples of wanted tracepoints, lost counts.
 *
 * Layouts: include/uapi/linux/perf_event.h (PERF_RECORD_*, PERF_SAMPLE_*); records from 64 on:
 * tools/lib/perf/include/perf/event.h. Two passes over the same bytes: perf_count says how many
 * places each CPU needs, perf_places notes them. Both check every bound for themselves.
 */
#ifndef FOREREAD_PERF_WALK_H
#define FOREREAD_PERF_WALK_H

#include "decode.h"

/* The positions of the needed fields in a sample of one kind; offsets from the record's start. */
struct perf_layout {
    uint16_t wanted;     /* 0: samples of this layout are passed over */
    uint16_t time, cpu;  /* PERF_SAMPLE_TIME, PERF_SAMPLE_CPU */
    uint16_t fixed_end;  /* READ, CALLCHAIN and RAW follow, in this order */
    uint16_t read_bytes; /* READ: its fixed bytes */
    uint16_t read_entry; /* READ of a group: bytes for each member; 0: no group */
    uint16_t callchain;  /* 0 or 1: PERF_SAMPLE_CALLCHAIN */
    uint16_t tail_cpu;   /* other records: bytes from their end to the CPU; 0: they have none */
};

/* How to read the records of one file. Event ids are sorted; without any, layout 0 is for all. */
struct perf_shape {
    const struct perf_layout *layouts;
    size_t n_layouts;
    const uint64_t *ids;
    const uint16_t *id_layouts;
    size_t n_ids;
    uint16_t sample_id; /* offset of the event id in samples */
    const struct ev_specs *specs;
};

enum perf_stop { PERF_END, PERF_TRUNCATED, PERF_DAMAGED };

/* The result of the first pass. events and lost are indexed by CPU and have n_cpus values. */
struct perf_tally {
    uint64_t *events, *lost;
    size_t n_cpus;
    uint64_t samples;      /* all, wanted or not */
    uint64_t damaged;      /* wanted samples that do not fit their record, CPU or format */
    uint64_t lost_unknown; /* PERF_RECORD_LOST of no known CPU */
    uint64_t lost_samples; /* PERF_RECORD_LOST_SAMPLES */
    uint64_t side;         /* MMAP, MMAP2, COMM and FORK records */
    uint64_t end;          /* where the walk stopped */
    enum perf_stop stop;
};

int perf_count(const struct perf_shape *shape, struct ev_data data, struct perf_tally *tally);

/* Room for the second pass: next[cpu] is the next free place, limit[cpu] the end of its run. */
struct perf_room {
    struct ev_place *places;
    size_t n_places;
    uint64_t *next;
    const uint64_t *limit;
    size_t n_cpus;
    uint64_t *side; /* offsets of the side records */
    size_t n_side;
};

int perf_places(const struct perf_shape *shape, struct ev_data data, struct perf_room *room);

#endif
