/* Error codes of the readers' C core: negative, each with a message. */
#ifndef FOREREAD_ERRORS_H
#define FOREREAD_ERRORS_H

enum ev_error {
    EV_OK = 0,
    EV_ERR_NO_MEMORY = -1,
    EV_ERR_SPEC = -2,
    EV_ERR_BOUNDS = -3,
    EV_ERR_SHORT_RECORD = -4,
    EV_ERR_CAPACITY = -5,
    EV_ERR_RUNS = -6,
    EV_ERR_FORMAT = -7,
    EV_ERR_FORMAT_PARSER = -8,
    EV_ERR_LAYOUT = -9,
    EV_ERR_RECORD_SIZE = -10,
    EV_ERR_TRUNCATED = -11,
    EV_ERR_COMPRESSION = -12,
    EV_ERR_SUBBUF = -13,
    EV_ERR_ORDER = -14,
    EV_ERR_LAST = -15 /* one below the last code */
};

/* Returns the message of a code, never NULL. */
const char *ev_message(int code);

#endif
