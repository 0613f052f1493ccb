/* Fields of single records, on demand. */
#ifndef FOREREAD_FIELDS_H
#define FOREREAD_FIELDS_H

#include "number.h"
#include "runs.h"

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

#endif
