/* Numbers in the bytes of a trace, of any size and byte order. */
#ifndef FOREREAD_NUMBER_H
#define FOREREAD_NUMBER_H

#include "events.h"

struct ev_data {
    const uint8_t *bytes;
    size_t size;
};

/* The bytes from offset on; the caller has checked that offset is at most the size. Data of no
 * bytes may have no address, and C forbids even NULL + 0. */
static inline const uint8_t *
ev_at(struct ev_data data, uint64_t offset)
{
    static const uint8_t nothing;

    return data.bytes != NULL ? data.bytes + offset : &nothing;
}

static inline uint64_t
ev_load(const uint8_t *bytes, unsigned size, bool swap)
{
    union {
        uint8_t u1;
        uint16_t u2;
        uint32_t u4;
        uint64_t u8;
    } v;

    switch (size) {
    case 1:
        return bytes[0];
    case 2:
        __builtin_memcpy(&v.u2, bytes, 2);
        return swap ? __builtin_bswap16(v.u2) : v.u2;
    case 4:
        __builtin_memcpy(&v.u4, bytes, 4);
        return swap ? __builtin_bswap32(v.u4) : v.u4;
    case 8:
        __builtin_memcpy(&v.u8, bytes, 8);
        return swap ? __builtin_bswap64(v.u8) : v.u8;
    default:
        return 0;
    }
}

/* The field's value; the caller has checked that the field lies within the record. */
static inline uint64_t
ev_number(const uint8_t *record, struct ev_field field, bool swap)
{
    uint64_t value = ev_load(record + field.offset, field.size, swap);
    unsigned unused_bits = 64 - 8u * field.size;

    if (!field.is_signed || field.size == 0)
        return value;
    return (uint64_t)((int64_t)(value << unused_bits) >> unused_bits);
}

#endif
