/* Whether a format description is complete and sane. */
#ifndef FOREREAD_FORMAT_CHECK_H
#define FOREREAD_FORMAT_CHECK_H

#include "errors.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FMT_NAME 64

struct fmt_text {
    const char *text;
    size_t size;
};

/* Returns the number of fields of a complete, sane format text, or EV_ERR_FORMAT. *fields_end,
 * unless NULL, becomes the offset after the last field's line. */
int fmt_check(struct fmt_text text, size_t *fields_end);

#endif
