/* The fixed-window model of readahead for all windows in one pass.
 *
 * Model (Gorelkina et al., "Prediction of Optimal Readahead Parameter in Linux by Using
 * Monitoring Tool", Linux Symposium 2010, section 2.3): the cache is infinite; the touch of a
 * page p that is not loaded is one request, which loads p..p+w clipped at the end of the file.
 *
 * Nothing here knows Python.
 */
#ifndef FOREREAD_FIXED_WINDOW_H
#define FOREREAD_FIXED_WINDOW_H

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

/* Fill counts for the windows 0..max_window; 0 or an fw_error. */
__attribute__((warn_unused_result)) int fw_run(const struct fw_accesses *accesses,
                                               uint32_t max_window, enum fw_isa isa,
                                               struct fw_counts *counts);

const char *fw_message(int error);
const char *fw_remedy(int error);

#endif
