/* From places of records to rows of columns: what every reader does after its first pass.
 *
 * A reader's first pass notes where the wanted records lie (struct ev_place), in runs that are
 * each in time order (one a CPU). ev_sort_runs repairs a run that is not; ev_decode merges the
 * runs by time, equal times by run, and fills the columns.
 */
#ifndef FOREREAD_DECODE_H
#define FOREREAD_DECODE_H

#include "errors.h"
#include "events.h"

struct ev_place {
    uint64_t time_ns;
    uint64_t offset; /* of the record (its common_type) within the data */
    uint32_t size;   /* bytes of the record */
    uint16_t cpu;
    uint16_t spec; /* index into ev_specs.items */
};

struct ev_data {
    const uint8_t *bytes;
    size_t size;
};

/* Run i is places[starts[i]] to places[starts[i + 1]], exclusive; starts has n + 1 values. */
struct ev_runs {
    struct ev_place *places;
    size_t n_places;
    const uint64_t *starts;
    size_t n;
};

/* Checks the specs and builds the look-up by common_type. items must outlive specs. */
int ev_specs_init(struct ev_specs *specs, const struct ev_spec *items, size_t n, bool swap);

/* Whether the runs lie one after the other and fill the places. */
bool ev_runs_valid(const struct ev_runs *runs);

/* Brings each run into time order, keeping the order of equal times. */
int ev_sort_runs(struct ev_runs *runs);

/* Fills columns rows first_row.. from the merged runs. */
int ev_decode(const struct ev_specs *specs, struct ev_data data, const struct ev_runs *runs,
              struct ev_columns *columns, size_t first_row);

/* Fills out[i] with a numeric field of each place, sign-extended if the field is signed. */
int ev_field_numbers(struct ev_data data, const struct ev_place *places, size_t n,
                     struct ev_field field, bool swap, uint64_t *out);

/* How a string field is stored. */
enum ev_string { EV_FIXED, EV_DATA_LOC, EV_REL_LOC };

struct ev_string_field {
    uint16_t offset, size; /* size of the array, EV_FIXED only */
    enum ev_string storage;
};

/* Points *bytes and *length at a string field of one place, up to its first NUL. */
int ev_field_string(struct ev_data data, const struct ev_place *place,
                    const struct ev_string_field *field, bool swap, const uint8_t **bytes,
                    size_t *length);

/* Rwbs bits (tables.py) of an rwbs string of at most size letters. */
uint16_t ev_rwbs(const uint8_t *letters, size_t size);

static inline uint64_t
ev_load(const uint8_t *bytes, unsigned size, bool swap)
{
    union {
        uint8_t u1;
        uint16_t u2;
        uint32_t u4;
        uint64_t u8;
    } v;

    switch (size) {
    case 1:
        return bytes[0];
    case 2:
        __builtin_memcpy(&v.u2, bytes, 2);
        return swap ? __builtin_bswap16(v.u2) : v.u2;
    case 4:
        __builtin_memcpy(&v.u4, bytes, 4);
        return swap ? __builtin_bswap32(v.u4) : v.u4;
    case 8:
        __builtin_memcpy(&v.u8, bytes, 8);
        return swap ? __builtin_bswap64(v.u8) : v.u8;
    default:
        return 0;
    }
}

/* The field's value; the caller has checked that the field lies within the record. */
static inline uint64_t
ev_number(const uint8_t *record, struct ev_field field, bool swap)
{
    uint64_t value = ev_load(record + field.offset, field.size, swap);
    unsigned unused_bits = 64 - 8u * field.size;

    if (!field.is_signed || field.size == 0)
        return value;
    return (uint64_t)((int64_t)(value << unused_bits) >> unused_bits);
}

#endif
