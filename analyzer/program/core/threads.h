/* Threads, and the faults that they are in; see ../../reference/threads.py and
 * ../../reference/faults.py. */
#ifndef FOREREAD_FOLLOW_THREADS_H
#define FOREREAD_FOLLOW_THREADS_H

#include "follow_state.h"

/* The first error there was. */
int fw_error_of(const struct fw_state *state);

/* Threads: FW_NONE after an error. */
uint32_t fw_thread_of(struct fw_state *state, int64_t pid);
void fw_cloned(struct fw_state *state, int64_t pid, int64_t flags);
void fw_forked(struct fw_state *state, uint32_t parent, int64_t pid);
void fw_executed(struct fw_state *state, struct fw_thread *thread);

/* Faults, as Faults in ../../reference/faults.py. */
enum fw_writes { FW_WRITES_NOT, FW_WRITES, FW_PERHAPS };
bool fw_fault_goes_on(struct fw_state *state, struct fw_thread *thread, uint32_t file,
                      int64_t page);
void fw_fault_begin(struct fw_state *state, struct fw_thread *thread, uint32_t file, int64_t page,
                    size_t row);
bool fw_fault_inserted(struct fw_state *state, struct fw_thread *thread, uint32_t file,
                       int64_t page);
void fw_fault_mapped(struct fw_state *state, struct fw_thread *thread, uint32_t file, int64_t first,
                     int64_t last);
void fw_fault_over(struct fw_state *state, struct fw_thread *thread, enum fw_writes writes);

#endif
