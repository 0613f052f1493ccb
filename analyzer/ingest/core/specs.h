/* The wanted events, checked, with a look-up by common_type. */
#ifndef FOREREAD_SPECS_H
#define FOREREAD_SPECS_H

#include "errors.h"
#include "events.h"

/* Checks the specs and builds the look-up by common_type. items must outlive specs. */
int ev_specs_init(struct ev_specs *specs, const struct ev_spec *items, size_t n, bool swap);

/* Whether a field lies within a record of ``length`` bytes, with a size that a number can have. */
bool ev_field_fits(struct ev_field field, uint16_t length, bool is_number);

#endif
