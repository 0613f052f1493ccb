/* What is known of threads between two of their events; see ../threads.py. */
#ifndef FOREREAD_FOLLOW_STATE_H
#define FOREREAD_FOLLOW_STATE_H

#include "draft.h"

#define FW_LARGEST (INT64_C(1) << 50) /* bytes or pages; an argument beyond it is not believed */
enum { FW_ELSEWHERE = -1, FW_WILLNEED = 3 };

/* Mappings and descriptors, and words of 64 pages, that any run may have; and how many more for
 * each of its moments. */
#ifndef FW_MOST_HELD
#define FW_MOST_HELD ((size_t)1 << 20)
#define FW_MOST_WORDS ((size_t)1 << 20)
#endif
enum { FW_EACH = 4 };

/* A read(2) in progress; ``count`` is 0 if unknown. */
struct fw_reading {
    int64_t descriptor, count, position;
    bool is_any, has_position, several;
};

/* Pages [first, last] of a file that a call has read in. */
struct fw_missed {
    int64_t first, last;
    uint32_t file;
    int8_t way;
    bool is_any;
};

/* The fault that a thread is in. */
struct fw_fault {
    int64_t page;
    size_t row;
    uint32_t file;
    bool is_any, present, missed;
};

struct fw_thread {
    struct fw_image image;
    uint32_t kernel_reads; /* memory: files that exec reads */
    struct fw_reading reading;
    uint8_t entered; /* the call in progress, enum fw_what */
    int64_t arguments[FW_VALUES];
    struct fw_missed missed;
    struct fw_fault fault;
    uint32_t last_file, brings_file; /* of a read seen; of pages about to be read */
    int64_t last_first, last_last, brings_first, brings_end;
};

struct fw_state {
    const struct fw_evidence *evidence;
    struct fw_images images;
    struct fw_draft draft;
    struct fw_pairs by_pid; /* rows of threads */
    struct fw_thread *threads;
    size_t n_threads, room_threads;
    struct fw_pairs clones; /* by the thread that is about to be: rows of flags */
    int64_t *flags;         /* of clone; -1: none */
    size_t n_flags, room_flags;
    struct fw_pairs inserted; /* (file, page) to rows of evidence->inserted */
    struct fw_pairs waiting;  /* (file, page) to how many threads are in a fault that reads it */
    size_t *segments;         /* by file: the first of evidence->segments */
    int error;
};

/* The first error there was. */
int fw_error_of(const struct fw_state *state);

/* Threads: FW_NONE after an error. */
uint32_t fw_thread_of(struct fw_state *state, int64_t pid);
void fw_cloned(struct fw_state *state, int64_t pid, int64_t flags);
void fw_forked(struct fw_state *state, uint32_t parent, int64_t pid);
void fw_executed(struct fw_state *state, struct fw_thread *thread);

/* Faults, as Faults in ../faults.py. */
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

/* System calls, as Calls in ../calls.py. */
void fw_call(struct fw_state *state, struct fw_thread *thread, uint8_t what, const int64_t *values);
void fw_call_learn(struct fw_state *state, struct fw_thread *thread, uint32_t file);

/* Reads and mappings, as Builder in ../reference.py. */
uint32_t fw_read_handle(struct fw_state *state, struct fw_thread *thread, uint32_t file,
                        const struct fw_reading *reading);
void fw_read_at(struct fw_state *state, uint32_t handle, uint32_t file,
                const struct fw_reading *reading, int64_t position, int64_t count);
size_t fw_fault_on(struct fw_state *state, struct fw_thread *thread, uint32_t file, int64_t page);
void fw_settle(struct fw_state *state, struct fw_thread *thread);
void fw_miss(struct fw_state *state, struct fw_thread *thread, uint32_t file, int64_t page,
             int8_t way);

#endif
