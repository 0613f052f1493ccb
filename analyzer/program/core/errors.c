#include "errors.h"

static const struct {
    const char *message, *remedy;
} TEXTS[] = {
    {"memory is short", "analyse the recording on a larger machine"},
    {"the recording names more pages or mappings than a run of its length can have",
     "the trace is damaged: copy it again, or record again"},
    {"a file, a page or an event is out of range",
     "the trace is damaged: copy it again, or record again"},
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
