/* reallocarray, beyond C11 */
#define _DEFAULT_SOURCE
#include "formats.h"

#include <ctype.h>
#include <event-parse.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_OFFSET = UINT16_MAX, MOST_ID = UINT16_MAX, FIELDS = 64 };

static int
reserve(struct fmt_fields *fields)
{
    size_t capacity = fields->capacity == 0 ? FIELDS : 2 * fields->capacity;
    struct fmt_field *items;

    if (fields->n < fields->capacity)
        return EV_OK;
    items = reallocarray(fields->items, capacity, sizeof(*items));
    if (items == NULL)
        return EV_ERR_NO_MEMORY;
    fields->items = items;
    fields->capacity = capacity;
    return EV_OK;
}

static bool
is_word(const char *text)
{
    while (isalnum((unsigned char)*text) || *text == '_')
        text++;
    return *text == '\0';
}

static bool
is_possible(const struct tep_format_field *field)
{
    return field->name != NULL && strlen(field->name) < FMT_NAME && is_word(field->name) &&
           field->offset >= 0 && field->size >= 0 && field->size <= MOST_OFFSET &&
           field->offset <= MOST_OFFSET - field->size;
}

static int
add_field(struct fmt_fields *fields, uint32_t event, uint32_t id,
          const struct tep_format_field *from)
{
    unsigned long flags = from->flags;
    struct fmt_field *to;

    if (!is_possible(from))
        return EV_ERR_FORMAT;
    if (reserve(fields) != EV_OK)
        return EV_ERR_NO_MEMORY;
    to = &fields->items[fields->n++];
    memset(to, 0, sizeof(*to));
    to->event = event;
    to->id = id;
    to->offset = (uint32_t)from->offset;
    to->size = (uint32_t)from->size;
    to->flags |= flags & TEP_FIELD_IS_ARRAY ? FMT_ARRAY : 0;
    to->flags |= flags & TEP_FIELD_IS_SIGNED ? FMT_SIGNED : 0;
    to->flags |= flags & TEP_FIELD_IS_STRING ? FMT_STRING : 0;
    if (flags & TEP_FIELD_IS_DYNAMIC)
        to->flags |= flags & TEP_FIELD_IS_RELATIVE ? FMT_REL_LOC : FMT_DATA_LOC;
    strcpy(to->name, from->name);
    return EV_OK;
}

static int
add_event(struct fmt_fields *fields, uint32_t index, const struct tep_event *event)
{
    const struct tep_format_field *lists[] = {event->format.common_fields, event->format.fields};
    int ret = event->id >= 0 && event->id <= MOST_ID ? EV_OK : EV_ERR_FORMAT;

    for (int i = 0; i < 2; i++)
        for (const struct tep_format_field *f = lists[i]; f != NULL && ret == EV_OK; f = f->next)
            ret = add_field(fields, index, (uint32_t)event->id, f);
    return ret;
}

static int
parse_one(struct fmt_text text, uint32_t index, struct fmt_target target, struct fmt_fields *fields)
{
    struct tep_handle *tep = tep_alloc();
    const struct tep_event *event;
    int ret = EV_ERR_FORMAT_PARSER;

    if (tep == NULL)
        return EV_ERR_NO_MEMORY;
    tep_set_loglevel(TEP_LOG_NONE);
    tep_set_file_bigendian(tep, target.big_endian ? TEP_BIG_ENDIAN : TEP_LITTLE_ENDIAN);
    tep_set_long_size(tep, target.long_size);
    if (tep_parse_event(tep, text.text, text.size, "trace") == TEP_ERRNO__SUCCESS &&
        (event = tep_get_first_event(tep)) != NULL && !(event->flags & TEP_EVENT_FL_FAILED))
        ret = add_event(fields, index, event);
    tep_free(tep);
    return ret;
}

int
fmt_fields_alloc(struct fmt_fields *fields, const struct fmt_text *texts, size_t n,
                 struct fmt_target target)
{
    int ret = EV_OK;

    memset(fields, 0, sizeof(*fields));
    for (size_t i = 0; i < n && ret == EV_OK; i++) {
        fields->failed = (uint32_t)i;
        ret = parse_one(texts[i], (uint32_t)i, target, fields);
    }
    return ret;
}

void
fmt_fields_free(struct fmt_fields *fields)
{
    free(fields->items);
    memset(fields, 0, sizeof(*fields));
}
