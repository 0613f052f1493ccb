/* Reads the choices of a fuzz target from its input, byte by byte. */
#ifndef BYTES_H
#define BYTES_H

#include <stddef.h>
#include <stdint.h>

struct bytes {
    const uint8_t *at;
    size_t left;
};

/* Return a number below ``below`` (1 to 256), from one byte; 0 once the input has ended. */
static inline unsigned
next(struct bytes *b, unsigned below)
{
    if (!b->left)
        return 0;
    b->left--;
    return *b->at++ % below;
}

#endif
