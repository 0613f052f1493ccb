/*
 * The rules and the numbers that Python passes, each once: emulator/linux/rules.py and
 * operations.py say what they mean. emulator/linux/windows.py compares all names when it is
 * imported.
 */
#ifndef LX_RULES_H
#define LX_RULES_H

#include <stdint.h>

/* The values of the rules: LX_, the rule, and the name in its enumeration. */
#define LX_NO_OR_YES LX_NO, LX_YES
#define LX_ALGORITHM_VALUES                                                                        \
    LX_ALGORITHM_ADAPTIVE, LX_ALGORITHM_MARKER, LX_ALGORITHM_STRAY, LX_ALGORITHM_ONDEMAND,         \
        LX_ALGORITHM_SPLIT
#define LX_NO_HOLE_VALUES LX_NO_HOLE_NOTHING, LX_NO_HOLE_BEHIND, LX_NO_HOLE_STUCK
#define LX_MERGE_VALUES LX_MERGE_NONE, LX_MERGE_WHOLE, LX_MERGE_CAPPED
#define LX_CONTEXT_VALUES LX_CONTEXT_NONE, LX_CONTEXT_ANY, LX_CONTEXT_LONGER
#define LX_ORDERS_VALUES LX_ORDERS_SINGLE, LX_ORDERS_PLUS_TWO, LX_ORDERS_RAMP
#define LX_PREV_POS_VALUES LX_PREV_POS_LAST_PAGE, LX_PREV_POS_EVERY_PAGE, LX_PREV_POS_NEXT_BYTE
#define LX_READS_PAST_END_VALUES                                                                   \
    LX_READS_PAST_END_NOTHING, LX_READS_PAST_END_AT_END, LX_READS_PAST_END_BEYOND
#define LX_FORCED_VALUES LX_FORCED_UNLIMITED, LX_FORCED_TWO_MIB, LX_FORCED_WINDOW, LX_FORCED_IO
#define LX_FAULT_VALUES                                                                            \
    LX_FAULT_HIT_COUNT, LX_FAULT_MARKER_HIT_COUNT, LX_FAULT_MISS_COUNT, LX_FAULT_SEQUENTIAL,       \
        LX_FAULT_AROUND
#define LX_AROUND_VALUES                                                                           \
    LX_AROUND_NONE, LX_AROUND_FILLED, LX_AROUND_ELIGIBLE, LX_AROUND_FOLIO, LX_AROUND_TOUCHED

#define LX_WITHIN_MAPPING_VALUES                                                                   \
    LX_WITHIN_MAPPING_NONE, LX_WITHIN_MAPPING_CODE, LX_WITHIN_MAPPING_ALL
#define LX_GENERATIONS_VALUES                                                                      \
    LX_GENERATIONS_NONE, LX_GENERATIONS_FIRST, LX_GENERATIONS_REWORKED, LX_GENERATIONS_OLD_FAULTS

enum { LX_NO_OR_YES };
enum { LX_ALGORITHM_VALUES };
enum { LX_NO_HOLE_VALUES };
enum { LX_MERGE_VALUES };
enum { LX_CONTEXT_VALUES };
enum { LX_ORDERS_VALUES };
enum { LX_PREV_POS_VALUES };
enum { LX_READS_PAST_END_VALUES };
enum { LX_FORCED_VALUES };
enum { LX_FAULT_VALUES };
enum { LX_AROUND_VALUES };
enum { LX_WITHIN_MAPPING_VALUES };
enum { LX_GENERATIONS_VALUES };

/* RULE(name, values) for each rule; LX_NUMBER: any number. */
#define LX_EACH_RULE(RULE)                                                                         \
    RULE(algorithm, LX_ALGORITHM_VALUES)                                                           \
    RULE(off_is_negative, LX_NO_OR_YES)                                                            \
    RULE(two_mib_window, LX_NO_OR_YES)                                                             \
    RULE(grows_to_io, LX_NO_OR_YES)                                                                \
    RULE(runs_apart, LX_NO_OR_YES)                                                                 \
    RULE(zero_is_forced, LX_NO_OR_YES)                                                             \
    RULE(clamps_first, LX_NO_OR_YES)                                                               \
    RULE(xarray, LX_NO_OR_YES)                                                                     \
    RULE(no_hole, LX_NO_HOLE_VALUES)                                                               \
    RULE(keeps_larger, LX_NO_OR_YES)                                                               \
    RULE(merge, LX_MERGE_VALUES)                                                                   \
    RULE(context, LX_CONTEXT_VALUES)                                                               \
    RULE(orders, LX_ORDERS_VALUES)                                                                 \
    RULE(marks_upwards, LX_NO_OR_YES)                                                              \
    RULE(order_one, LX_NO_OR_YES)                                                                  \
    RULE(overshoots, LX_NO_OR_YES)                                                                 \
    RULE(folio_index, LX_NO_OR_YES)                                                                \
    RULE(expands, LX_NO_OR_YES)                                                                    \
    RULE(fills_past_end, LX_NO_OR_YES)                                                             \
    RULE(block_window, LX_NO_OR_YES)                                                               \
    RULE(prev_pos, LX_PREV_POS_VALUES)                                                             \
    RULE(random_flag, LX_NO_OR_YES)                                                                \
    RULE(forced, LX_FORCED_VALUES)                                                                 \
    RULE(fault, LX_FAULT_VALUES)                                                                   \
    RULE(fault_again, LX_NO_OR_YES)                                                                \
    RULE(around, LX_AROUND_VALUES)                                                                 \
    RULE(exec_window, LX_NO_OR_YES)                                                                \
    RULE(huge_window, LX_NO_OR_YES)                                                                \
    RULE(huge_counts, LX_NO_OR_YES)                                                                \
    RULE(huge_folio, LX_NO_OR_YES)                                                                 \
    RULE(exec_counts, LX_NO_OR_YES)                                                                \
    RULE(retry_counts, LX_NO_OR_YES)                                                               \
    RULE(marker_retries, LX_NO_OR_YES)                                                             \
    RULE(marks_end, LX_NO_OR_YES)                                                                  \
    RULE(scans_all, LX_NO_OR_YES)                                                                  \
    RULE(reads_past_end, LX_READS_PAST_END_VALUES)                                                 \
    RULE(within_mapping, LX_WITHIN_MAPPING_VALUES)                                                 \
    RULE(mapped_folio_kb, LX_NUMBER)                                                               \
    RULE(generations, LX_GENERATIONS_VALUES)

/* NUMBER(name) for each number of Machine, then of Limits. */
#define LX_EACH_NUMBER(NUMBER)                                                                     \
    NUMBER(page_size)                                                                              \
    NUMBER(io_pages)                                                                               \
    NUMBER(fault_around)                                                                           \
    NUMBER(table_pages)                                                                            \
    NUMBER(exec_order)                                                                             \
    NUMBER(credit_ns)                                                                              \
    NUMBER(cache_pages)                                                                            \
    NUMBER(generations)                                                                            \
    NUMBER(code_stays)                                                                             \
    NUMBER(max_sectors_kb)                                                                         \
    NUMBER(max_segments)                                                                           \
    NUMBER(max_segment_size)                                                                       \
    NUMBER(nr_requests)                                                                            \
    NUMBER(nr_writes)                                                                              \
    NUMBER(nr_driver_tags)

struct lx_rules {
#define LX_MEMBER(name, ...) int32_t name;
    LX_EACH_RULE(LX_MEMBER)
#undef LX_MEMBER
};

struct lx_machine {
#define LX_MEMBER(name) int64_t name;
    LX_EACH_NUMBER(LX_MEMBER)
#undef LX_MEMBER
};

#endif
