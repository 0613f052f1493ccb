/* What a recording says of its threads, and the operations that the emulation of the kernel runs.
 */
#ifndef FOREREAD_FOLLOW_EVIDENCE_H
#define FOREREAD_FOLLOW_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Kinds of moments: enum What of ../timeline.py. */
enum fw_what {
    FW_INSERT = 1,
    FW_FAULT = 3,
    FW_GET_PAGES = 4,
    FW_MAP_PAGES = 5,
    FW_RA_UNBOUNDED = 6,
    FW_FORK = 11,
    FW_EXEC = 12,
    FW_READ = 100,
    FW_PREAD,
    FW_READV,
    FW_PREADV,
    FW_SENDFILE,
    FW_OPEN,
    FW_OPENED,
    FW_DUP,
    FW_DUPED,
    FW_DUP_TO,
    FW_FCNTL,
    FW_FCNTLED,
    FW_CLOSE,
    FW_CLOSE_RANGE,
    FW_LSEEK,
    FW_LSEEKED,
    FW_MMAP,
    FW_MAPPED,
    FW_MUNMAP,
    FW_MREMAP,
    FW_MREMAPPED,
    FW_MPROTECT,
    FW_MADVISE,
    FW_FADVISE,
    FW_READAHEAD,
    FW_CLONED,
    FW_OTHER
};

enum { FW_VALUES = 5 };

/* MOMENT of ../timeline.py; values are as enum What says there. */
struct fw_moment {
    uint64_t time_ns;
    int64_t values[FW_VALUES];
    int32_t pid;
    uint8_t what;
};

/* How a page was read in: enum Way of ../misses.py. */
enum fw_way { FW_NO_WAY = -1, FW_BY_FAULT, FW_BY_READ, FW_BY_ADVICE, FW_UNKNOWN, FW_FILLED };

/* INSERTED of ../evidence.py: facts about a page that entered the page cache. */
struct fw_inserted {
    uint64_t page;
    uint32_t file;
    uint8_t unread; /* no block read filled it */
    uint8_t stored; /* it has data on the device, as far as known */
    int8_t way;
};

/* PIECE of ../evidence.py: pages [first, end) of a file. */
struct fw_piece {
    uint64_t first, end;
    uint32_t file;
    uint8_t executable;
};

enum fw_file_flag {
    FW_LINK = 1,         /* a symbolic link */
    FW_PROGRAM = 2,      /* program headers say how it is mapped */
    FW_CACHED_KNOWN = 4, /* the recording says which pages were cached before */
};

enum fw_shown {
    FW_SHOWS_DUPLICATES = 1, /* of descriptors */
    FW_SHOWS_ADVICE = 2,     /* fadvise */
    FW_SHOWS_MAPPED = 4,     /* fault-around */
};

struct fw_evidence {
    const struct fw_moment *moments;
    size_t n_moments;
    const struct fw_inserted *inserted; /* of equal pages the last holds */
    size_t n_inserted;
    const struct fw_piece *segments; /* by file, as program headers say */
    size_t n_segments;
    const struct fw_piece *cached; /* before the run */
    size_t n_cached;
    const int64_t *sizes; /* bytes, negative: unknown */
    const uint8_t *flags; /* enum fw_file_flag, by file */
    size_t n_files;
    int64_t page_size;
    uint32_t shown;
};

/* enum Op and dtypes of emulator/linux/operations.py. */
enum fw_op {
    FW_OP_READ = 1,
    FW_OP_FAULT,
    FW_OP_NORMAL,
    FW_OP_SEQUENTIAL,
    FW_OP_RANDOM,
    FW_OP_WILLNEED,
    FW_OP_SINGLE,
    FW_OP_PRESENT
};

struct fw_operation {
    uint8_t op, unused[3];
    uint32_t handle, mapping, unused_too;
    uint64_t at, length;
};

struct fw_mapping {
    uint32_t handle, unused;
    uint64_t start, pages, address;
    uint8_t flags, unused_too[7];
};

enum fw_map_flag { FW_EXECUTES = 1, FW_SEQUENTIAL = 2, FW_RANDOM = 4, FW_HUGE = 8, FW_SHARED = 16 };

struct fw_page {
    uint64_t page;
    uint32_t file, unused;
};

/* Assumptions, in the order of ASSUMED of ../followed.py. */
enum fw_assumed {
    FW_WHOLE,
    FW_HEADERS,
    FW_KINDS,
    FW_FLAGS,
    FW_CALLS,
    FW_NEIGHBOURS,
    FW_SINGLY,
    FW_N_ASSUMED
};

struct fw_program {
    struct fw_operation *operations;
    uint64_t *times; /* ns, of each operation */
    size_t n_operations, room_operations;
    struct fw_mapping *mappings;
    size_t n_mappings, room_mappings;
    uint32_t *handles; /* files */
    size_t n_handles, room_handles;
    struct fw_page *holes; /* read without I/O */
    size_t n_holes, room_holes;
    int64_t assumed[FW_N_ASSUMED];
};

#endif
