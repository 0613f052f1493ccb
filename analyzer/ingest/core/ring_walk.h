/* Walks ftrace ring-buffer sub-buffers, as trace_pipe_raw and trace.dat hold them.
 *
 * Layout: kernel/trace/ring_buffer.c (struct buffer_data_page, ring_buffer_read_page) and
 * include/linux/ring_buffer.h (struct ring_buffer_event), 2.6.31 to 6.19.
 * analyzer/reference/ring_walk.py is the same in slow Python. No byte outside a stream is read,
 * whatever it holds.
 */
#ifndef FOREREAD_RING_WALK_H
#define FOREREAD_RING_WALK_H

#include "decode.h"

/* The layout of a sub-buffer, from events/header_page. */
struct ring_layout {
    uint32_t subbuf_size; /* bytes, header included */
    uint32_t data_offset; /* bytes before the first event */
    uint8_t commit_size;  /* bytes of the commit word: the kernel's long, 4 or 8 */
};

/* Sub-buffers of one CPU, back to back in the order they were read. */
struct ring_stream {
    uint64_t offset; /* within the data */
    uint64_t size;   /* bytes, whole sub-buffers */
    uint16_t cpu;
};

/* The result of a walk; after an error, up to where it got. */
struct ring_found {
    uint64_t records; /* wanted ones */
    uint64_t lost;    /* events lost before a sub-buffer, if it has their number */
    uint64_t gaps;    /* sub-buffers that report lost events, but not their number */
    uint64_t offset;  /* of the last sub-buffer looked at, within the data */
};

/* Notes the places of the wanted records of one stream, in the stream's order. With places NULL
 * they are counted only; else there must be room for capacity of them. */
int ring_walk(const struct ring_layout *layout, const struct ev_specs *specs, struct ev_data data,
              const struct ring_stream *stream, struct ev_place *places, size_t capacity,
              struct ring_found *found);

#endif
