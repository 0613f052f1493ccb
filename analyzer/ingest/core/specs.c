/* The wanted events, checked, with a look-up by common_type. */
#include "specs.h"

#include <string.h>

bool
ev_field_fits(struct ev_field field, uint16_t length, bool is_number)
{
    unsigned size = field.size;

    if (is_number && size != 0 && size != 1 && size != 2 && size != 4 && size != 8)
        return false;
    return (unsigned)field.offset + size <= length;
}

static bool
spec_fits(const struct ev_spec *spec)
{
    bool fits = ev_field_fits(spec->pid, spec->length, true);

    for (int i = 0; i < EV_NUMERIC; i++)
        fits = fits && ev_field_fits(spec->numeric[i], spec->length, true);
    return fits && ev_field_fits(spec->rwbs, spec->length, false);
}

int
ev_specs_init(struct ev_specs *specs, const struct ev_spec *items, size_t n, bool swap)
{
    if (n > INT16_MAX)
        return EV_ERR_SPEC;
    specs->items = items;
    specs->n = n;
    specs->swap = swap;
    memset(specs->by_id, 0xff, sizeof(specs->by_id));
    for (size_t i = 0; i < n; i++) {
        if (!spec_fits(&items[i]) || specs->by_id[items[i].id] >= 0)
            return EV_ERR_SPEC;
        specs->by_id[items[i].id] = (int16_t)i;
    }
    return EV_OK;
}
