/* Event format descriptions, parsed by libtraceevent in a process of its own.
 *
 * libtraceevent (1.7.1, 1.8.4) crashes on truncated descriptions. So each text is checked for
 * completeness before the call, and the call is made in a child process with a time limit: any
 * failure there is an error here.
 */
#ifndef FOREREAD_FORMATS_H
#define FOREREAD_FORMATS_H

#include "format_check.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fmt_flag {
    FMT_ARRAY = 1,
    FMT_SIGNED = 2,
    FMT_STRING = 4,
    FMT_DATA_LOC = 8, /* __data_loc: 4 bytes, length << 16 | offset from the record's start */
    FMT_REL_LOC = 16  /* __rel_loc: the same, offset from the field's end */
};

/* One field of one event: a row of the child's output. */
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

/* Parses checked texts in this process; fields has room for all (sum of fmt_check). */
int fmt_parse(const struct fmt_text *texts, size_t n, struct fmt_target target,
              struct fmt_fields *fields);

/* Checks and parses texts in a child process; fields are allocated here. */
int fmt_fields_alloc(struct fmt_fields *fields, const struct fmt_text *texts, size_t n,
                     struct fmt_target target, int timeout_ms);
void fmt_fields_free(struct fmt_fields *fields);

#endif
