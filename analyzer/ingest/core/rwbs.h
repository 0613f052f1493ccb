/* The flags of a block event, as letters and as bits. */
#ifndef FOREREAD_RWBS_H
#define FOREREAD_RWBS_H

#include <stddef.h>
#include <stdint.h>

/* Rwbs of tables.py */
enum ev_rwbs_bit {
    EV_RWBS_READ = 1,
    EV_RWBS_WRITE = 2,
    EV_RWBS_AHEAD = 4,
    EV_RWBS_META = 8,
    EV_RWBS_SYNC = 16,
    EV_RWBS_FLUSH = 32,
    EV_RWBS_DISCARD = 64,
    EV_RWBS_OTHER = 128
};

/* blk_fill_rwbs, kernel/trace/blktrace.c; E is a secure erase, N neither read nor write. */
static inline uint16_t
ev_rwbs_letter(uint8_t letter)
{
    switch (letter) {
    case 'R':
        return EV_RWBS_READ;
    case 'W':
        return EV_RWBS_WRITE;
    case 'A':
        return EV_RWBS_AHEAD;
    case 'M':
        return EV_RWBS_META;
    case 'S':
        return EV_RWBS_SYNC;
    case 'F':
        return EV_RWBS_FLUSH;
    case 'D':
    case 'E':
        return EV_RWBS_DISCARD;
    default:
        return EV_RWBS_OTHER;
    }
}

/* Rwbs bits (tables.py) of an rwbs string of at most size letters. */
static inline uint16_t
ev_rwbs(const uint8_t *letters, size_t size)
{
    uint16_t bits = 0;

    for (size_t i = 0; i < size && letters[i] != 0; i++)
        bits |= ev_rwbs_letter(letters[i]);
    return bits;
}

#endif
