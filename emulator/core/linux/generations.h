/* Reclaim with the multi-generational lists: emulator/stepwise/generations.py. */
#ifndef LX_GENERATIONS_H
#define LX_GENERATIONS_H

#include "held.h"

extern const struct lx_lists lx_generations;

#endif
