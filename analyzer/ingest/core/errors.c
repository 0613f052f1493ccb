#include "errors.h"

const char *
ev_message(int code)
{
    switch (code) {
    case EV_OK:
        return "no error";
    case EV_ERR_NO_MEMORY:
        return "out of memory";
    case EV_ERR_SPEC:
        return "an event's fields lie outside its record or are of no known size";
    case EV_ERR_BOUNDS:
        return "a record lies outside the trace's data";
    case EV_ERR_SHORT_RECORD:
        return "a record is shorter than its event's format says";
    case EV_ERR_CAPACITY:
        return "the columns have too few rows";
    case EV_ERR_RUNS:
        return "the runs do not lie in order within the places";
    case EV_ERR_FORMAT:
        return "an event's format description is damaged";
    case EV_ERR_FORMAT_PARSER:
        return "libtraceevent cannot parse an event's format description";
    case EV_ERR_LAYOUT:
        return "the samples' layout is impossible";
    case EV_ERR_RECORD_SIZE:
        return "a record's size is impossible";
    case EV_ERR_TRUNCATED:
        return "the data ends inside a record";
    case EV_ERR_COMPRESSION:
        return "compressed data is damaged";
    case EV_ERR_SUBBUF:
        return "a sub-buffer claims more data than it has room for";
    case EV_ERR_ORDER:
        return "the trace's clock goes back";
    default:
        return "unknown error";
    }
}
