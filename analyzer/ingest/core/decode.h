/* From places of records to rows of columns: the second pass of every reader.
 *
 * A reader's first pass notes where the wanted records lie (struct ev_place), in runs that are
 * each in time order (one a CPU). ev_sort_runs repairs a run that is not; ev_decode merges the
 * runs by time, equal times by run, and fills the columns.
 */
#ifndef FOREREAD_DECODE_H
#define FOREREAD_DECODE_H

#include "number.h"
#include "runs.h"
#include "specs.h"

/* Fills columns rows first_row.. from the merged runs. */
int ev_decode(const struct ev_specs *specs, struct ev_data data, const struct ev_runs *runs,
              struct ev_columns *columns, size_t first_row);

#endif
