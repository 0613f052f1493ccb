/* Growing arrays and a hash map of pairs, all of which report when memory is short. */
#ifndef FOREREAD_FOLLOW_STORE_H
#define FOREREAD_FOLLOW_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FW_NONE UINT32_MAX

/* Make room for ``n`` items of ``size`` bytes in all; false: no memory, and nothing has changed. */
bool fw_reserve(void **items, size_t *room, size_t n, size_t size);

struct fw_pair {
    uint64_t a, b;
    uint32_t value;
    bool used;
};

/* (a, b) -> value; all zero to begin with. */
struct fw_pairs {
    struct fw_pair *slots;
    size_t room, n; /* room is a power of 2 */
};

/* The value's place, a new one holds FW_NONE; NULL: no memory. Valid until the next call. */
uint32_t *fw_pairs_at(struct fw_pairs *pairs, uint64_t a, uint64_t b);

/* The value, FW_NONE if there is none. */
uint32_t fw_pairs_get(const struct fw_pairs *pairs, uint64_t a, uint64_t b);

void fw_pairs_free(struct fw_pairs *pairs);

#endif
