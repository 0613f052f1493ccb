/* A reader's input for an event, and its output.
 *
 * Offsets come from libtraceevent, once per trace; the readers walk records with them.
 * Nothing here knows Python.
 */
#ifndef FOREREAD_EVENTS_H
#define FOREREAD_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Columns filled from numeric fields of a record; EVENTS schema of tables.py. */
enum ev_column { EV_DEV, EV_INO, EV_INDEX, EV_VALUE, EV_NUMERIC };

struct ev_field {
    uint16_t offset; /* from the start of the record (common_type) */
    uint8_t size;    /* 1, 2, 4, 8 bytes; 0: absent, reads as 0; rwbs: length of the array */
    uint8_t is_signed;
};

struct ev_spec {
    uint16_t id;         /* common_type */
    uint8_t kind;        /* enum Kind of tables.py */
    uint16_t length;     /* bytes a record must have at least: end of the last field above */
    struct ev_field pid; /* common_pid */
    struct ev_field numeric[EV_NUMERIC];
    struct ev_field rwbs;
};

/* The specs of one trace, looked up by common_type. */
struct ev_specs {
    const struct ev_spec *items;
    size_t n;
    bool swap;            /* records are of the other byte order */
    int16_t by_id[65536]; /* index into items, -1: not wanted */
};

/* Preallocated output; each array has room for capacity rows. */
struct ev_columns {
    uint64_t *time_ns;
    uint16_t *cpu;
    uint8_t *kind;
    int32_t *pid;
    uint32_t *dev;
    uint64_t *ino;
    uint64_t *index;
    uint64_t *value;
    uint16_t *flags;
    size_t capacity;
};

#endif
