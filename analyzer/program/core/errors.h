/* Error codes of the follower: negative, each with a message and a remedy. */
#ifndef FOREREAD_FOLLOW_ERRORS_H
#define FOREREAD_FOLLOW_ERRORS_H

enum fw_error {
    FW_OK = 0,
    FW_NO_MEMORY = -1,
    FW_TOO_MUCH = -2,     /* more pages or mappings than a recording of this length can name */
    FW_OUT_OF_RANGE = -3, /* a row or a number of the input */
    FW_LAST_ERROR = FW_OUT_OF_RANGE
};

/* Message and remedy of an error. */
const char *fw_message(int error);
const char *fw_remedy(int error);

#endif
