/* libFuzzer target: the compressed sections and chunks of a trace.dat v7.
 *
 * Input: 4 bytes that choose the method, the byte order and the room, then compressed data.
 */
#include "inflate.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD = 4, MAX_ROOM = 1 << 20 };

int
LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    uint64_t total = 0;

    if (size < HEAD)
        return 0;
    enum inf_method method = (enum inf_method)(input[0] % 3);
    bool swap = input[0] & 4;
    size_t room = input[2] | (size_t)input[3] << 8;
    uint8_t *bytes = malloc(size - HEAD + 1);
    memcpy(bytes, input + HEAD, size - HEAD);
    struct ev_data source = {.bytes = bytes, .size = size - HEAD};

    if (inf_chunks_size(source, swap, &total) == EV_OK && total <= MAX_ROOM && input[1] & 1)
        room = (size_t)total;
    uint8_t *target = malloc(room + 1);
    int ret = inf_chunks(method, source, swap, target, room);
    assert(ret != EV_OK || (room == total && method != INF_UNKNOWN));
    ret = inf_block(method, source, target, room);
    assert(ret != EV_OK || method != INF_UNKNOWN);
    free(target);
    free(bytes);
    return 0;
}
