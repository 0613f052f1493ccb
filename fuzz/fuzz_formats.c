/* libFuzzer target: event format texts, checked here and parsed by libtraceevent.
 *
 * The parsing process of formats.c is left out: a crash of libtraceevent on a text that the
 * check lets through is a finding.
 */
#include "formats.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* libtraceevent forgets memory on some errors; its process ends at once. */
const char *
__lsan_default_suppressions(void)
{
    return "leak:libtraceevent";
}

int
LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    char *text = malloc(size + 1);
    struct fmt_fields fields = {0};
    struct fmt_target target = {.long_size = 8};

    memcpy(text, input, size);
    char *exact = realloc(text, size > 0 ? size : 1);
    struct fmt_text checked = {.text = exact, .size = size};
    int count = fmt_check(checked, NULL);
    assert(count > 0 || count == EV_ERR_FORMAT);
    if (count > 0) {
        fields.capacity = (size_t)count;
        fields.items = calloc(fields.capacity, sizeof(*fields.items));
        int ret = fmt_parse(&checked, 1, target, &fields);
        assert(ret == EV_OK || ret == EV_ERR_FORMAT_PARSER);
        fmt_fields_free(&fields);
    }
    free(exact);
    return 0;
}
