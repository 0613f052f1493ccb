/* Reclaim with an inactive and an active list: emulator/stepwise/two_lists.py. */
#ifndef LX_TWO_LISTS_H
#define LX_TWO_LISTS_H

#include "held.h"

extern const struct lx_lists lx_two_lists;

#endif
