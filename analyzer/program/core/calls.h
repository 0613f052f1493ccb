/* The effect of system calls on struct files and mappings. */
#ifndef FOREREAD_FOLLOW_CALLS_H
#define FOREREAD_FOLLOW_CALLS_H

#include "follow_state.h"

/* System calls, as Calls in ../../reference/calls.py. */
void fw_call(struct fw_state *state, struct fw_thread *thread, uint8_t what, const int64_t *values);
void fw_call_learn(struct fw_state *state, struct fw_thread *thread, uint32_t file);

#endif
