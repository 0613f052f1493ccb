/* Event format descriptions, parsed by libtraceevent.
 *
 * libtraceevent (1.7.1, 1.8.4) crashes on some damaged descriptions. Its caller runs in a process
 * with limits (../isolated.py).
 */
#ifndef FOREREAD_FORMATS_H
#define FOREREAD_FORMATS_H

#include "errors.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FMT_NAME 64

enum fmt_flag {
    FMT_ARRAY = 1,
    FMT_SIGNED = 2,
    FMT_STRING = 4,
    FMT_DATA_LOC = 8, /* __data_loc: 4 bytes, length << 16 | offset from the record's start */
    FMT_REL_LOC = 16  /* __rel_loc: the same, offset from the field's end */
};

struct fmt_text {
    const char *text;
    size_t size;
};

/* One field of one event. */
struct fmt_field {
    uint32_t event; /* index of the text */
    uint32_t id;    /* common_type of the event */
    uint32_t offset, size;
    uint32_t flags;
    char name[FMT_NAME];
};

struct fmt_fields {
    struct fmt_field *items;
    size_t n, capacity;
    uint32_t failed; /* on EV_ERR_FORMAT and EV_ERR_FORMAT_PARSER: index of the text */
};

struct fmt_target {
    bool big_endian;
    int long_size;
};

/* Parses texts; the fields are allocated here, also on an error. */
int fmt_fields_alloc(struct fmt_fields *fields, const struct fmt_text *texts, size_t n,
                     struct fmt_target target);
void fmt_fields_free(struct fmt_fields *fields);

#endif
