/* The rows of a program. */
#ifndef FOREREAD_FOLLOW_ROWS_H
#define FOREREAD_FOLLOW_ROWS_H

#include "errors.h"
#include "evidence.h"

/* Add a row to a program; returns enum fw_error. */
int fw_append(struct fw_program *program, uint64_t time_ns, struct fw_operation operation);

#endif
