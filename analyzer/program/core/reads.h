/* Reads, faults, and pages of which no event shows how they were read. */
#ifndef FOREREAD_FOLLOW_READS_H
#define FOREREAD_FOLLOW_READS_H

#include "follow_state.h"

/* Reads and mappings, as Builder in ../../reference/follow.py. */
uint32_t fw_read_handle(struct fw_state *state, struct fw_thread *thread, uint32_t file,
                        const struct fw_reading *reading);
void fw_read_at(struct fw_state *state, uint32_t handle, uint32_t file,
                const struct fw_reading *reading, int64_t position, int64_t count);
size_t fw_fault_on(struct fw_state *state, struct fw_thread *thread, uint32_t file, int64_t page);
void fw_settle(struct fw_state *state, struct fw_thread *thread);
void fw_miss(struct fw_state *state, struct fw_thread *thread, uint32_t file, int64_t page,
             int8_t way);

#endif
