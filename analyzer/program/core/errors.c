#include "errors.h"

static const struct {
    const char *message, *remedy;
} TEXTS[] = {
    {.message = "memory is short", .remedy = "analyse the recording on a larger machine"},
    {.message = "the recording names more pages or mappings than a run of its length can have",
     .remedy = "the trace is damaged: copy it again, or record again"},
    {.message = "a file, a page or an event is out of range",
     .remedy = "the trace is damaged: copy it again, or record again"},
};

const char *
fw_message(int error)
{
    return TEXTS[-error - 1].message;
}

const char *
fw_remedy(int error)
{
    return TEXTS[-error - 1].remedy;
}
