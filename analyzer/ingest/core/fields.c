/* Fields of single records, on demand. */
#define _DEFAULT_SOURCE /* strnlen, beyond C11 */
#include "fields.h"

#include "specs.h"
#include <string.h>

static int
record_of(struct ev_data data, const struct ev_place *place, unsigned length,
          const uint8_t **record)
{
    if (place->offset > data.size || place->size > data.size - place->offset)
        return EV_ERR_BOUNDS;
    if (place->size < length)
        return EV_ERR_SHORT_RECORD;
    *record = ev_at(data, place->offset);
    return EV_OK;
}

int
ev_field_numbers(struct ev_data data, const struct ev_place *places, size_t n,
                 struct ev_field field, bool swap, uint64_t *out)
{
    const uint8_t *record = NULL;
    int ret = EV_OK;

    if (!ev_field_fits(field, UINT16_MAX, true))
        return EV_ERR_SPEC;
    for (size_t i = 0; i < n && ret == EV_OK; i++) {
        ret = record_of(data, &places[i], (unsigned)field.offset + field.size, &record);
        if (ret == EV_OK)
            out[i] = ev_number(record, field, swap);
    }
    return ret;
}

int
ev_field_string(struct ev_data data, const struct ev_place *place,
                const struct ev_string_field *field, bool swap, const uint8_t **bytes,
                size_t *length)
{
    const uint8_t *record = NULL;
    size_t start = field->offset, size = field->storage == EV_FIXED ? field->size : 4;
    int ret = record_of(data, place, (unsigned)(start + size), &record);

    if (ret != EV_OK)
        return ret;
    if (field->storage != EV_FIXED) { /* include/trace/trace_events.h */
        uint32_t location = (uint32_t)ev_load(record + start, 4, swap);
        start = (location & 0xffff) + (field->storage == EV_REL_LOC ? start + 4 : 0);
        size = location >> 16;
    }
    if (start > place->size || size > place->size - start)
        return EV_ERR_BOUNDS;
    *bytes = record + start;
    *length = strnlen((const char *)record + start, size);
    return EV_OK;
}
