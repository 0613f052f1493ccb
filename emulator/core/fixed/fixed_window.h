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

#include "accesses.h"

/* Fill counts for the windows 0..max_window; 0 or an fw_error. */
__attribute__((warn_unused_result)) int fw_run(const struct fw_accesses *accesses,
                                               uint32_t max_window, enum fw_isa isa,
                                               struct fw_counts *counts);

const char *fw_message(int error);
const char *fw_remedy(int error);

#endif
