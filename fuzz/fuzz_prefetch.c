/* libFuzzer target: prefetch lists, as the replayer on a board reads them.
 *
 * What its check lets through is read again as the replay would: every range has a path that
 * begins with '/', and a length within its limits.
 */
#define main prefetch_main
#include "../analyzer/apply/replayer/foreread-prefetch.c"
#undef main

#include <assert.h>

int
LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    unsigned long line = 0;
    /* exactly as large, so that reading beyond it is seen */
    char *list = malloc(size > 0 ? size : 1);

    memcpy(list, input, size);
    if (check_list(list, size, &line) == NULL) {
        struct cursor cursor;
        struct range range = {0};
        const char *why = begin_list(&cursor, list, size);
        assert(why == NULL);
        while (next_range(&cursor, &range, &why)) {
            assert(range.path[0] == '/' && strlen(range.path) < LONGEST_PATH);
            assert(range.length >= 1 && range.length <= LARGEST_RANGE);
            assert(range.offset < 1000000000000000000);
        }
        assert(why == NULL);
    } else {
        assert(line > 0);
    }
    free(list);
    return 0;
}
