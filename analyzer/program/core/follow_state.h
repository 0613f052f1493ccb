/* The state of threads between two of their events; see ../../reference/threads.py. */
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

#endif
