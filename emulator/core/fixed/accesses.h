/* What the fixed-window model takes and fills, and its errors. */
#ifndef FOREREAD_ACCESSES_H
#define FOREREAD_ACCESSES_H

#include <stddef.h>
#include <stdint.h>

/* Twice the largest window plus one must fit int16_t: see sweep_simd.h. */
enum { FW_MAX_WINDOW = 16383 };

enum fw_isa { FW_AUTO, FW_BASELINE, FW_AVX2 };

enum fw_error {
    FW_OK = 0,
    FW_NO_MEMORY = -1,
    FW_BAD_WINDOW = -2,
    FW_BAD_FILE = -3,
    FW_BAD_LENGTH = -4,
    FW_TOO_MANY = -5,
    FW_NO_AVX2 = -6,
    FW_LAST_ERROR = FW_NO_AVX2
};

struct fw_accesses {
    const uint32_t *file; /* n rows of file_pages, in time order */
    const uint64_t *page; /* n page indexes */
    size_t n;
    const int64_t *file_pages; /* length of each file in pages, -1: unknown */
    size_t n_files;
};

/* Both arrays have max_window + 1 entries, one for each window from 0. */
struct fw_counts {
    int64_t *requests; /* F */
    int64_t *loaded;   /* distinct pages loaded */
    int64_t tap;       /* distinct pages accessed */
};

#endif
