#include "store.h"

#include <stdlib.h>

bool
fw_reserve(void **items, size_t *room, size_t n, size_t size)
{
    if (n <= *room)
        return true;
    size_t wanted = *room + *room / 2 + 16;

    if (wanted < n)
        wanted = n;
    if (wanted > SIZE_MAX / size)
        return false;
    void *grown = realloc(*items, wanted * size);
    if (!grown)
        return false;
    *items = grown;
    *room = wanted;
    return true;
}

/* splitmix64 of both: pages of a file and their neighbours go far apart. */
static uint64_t
mixed(uint64_t a, uint64_t b)
{
    uint64_t x = a * 0x9e3779b97f4a7c15u ^ (b + 0x9e3779b97f4a7c15u);

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static struct fw_pair *
slot_of(const struct fw_pairs *pairs, uint64_t a, uint64_t b)
{
    size_t mask = pairs->room - 1, at = mixed(a, b) & mask;

    while (pairs->slots[at].used && (pairs->slots[at].a != a || pairs->slots[at].b != b))
        at = (at + 1) & mask;
    return &pairs->slots[at];
}

static bool
grow(struct fw_pairs *pairs)
{
    struct fw_pairs larger = {.room = pairs->room ? 2 * pairs->room : 64, .n = pairs->n};

    larger.slots = calloc(larger.room, sizeof(*larger.slots));
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < pairs->room; i++)
        if (pairs->slots[i].used)
            *slot_of(&larger, pairs->slots[i].a, pairs->slots[i].b) = pairs->slots[i];
    free(pairs->slots);
    *pairs = larger;
    return true;
}

uint32_t *
fw_pairs_at(struct fw_pairs *pairs, uint64_t a, uint64_t b)
{
    if (2 * pairs->n >= pairs->room && !grow(pairs))
        return NULL;
    struct fw_pair *slot = slot_of(pairs, a, b);

    if (!slot->used) {
        *slot = (struct fw_pair){.a = a, .b = b, .value = FW_NONE, .used = true};
        pairs->n++;
    }
    return &slot->value;
}

uint32_t
fw_pairs_get(const struct fw_pairs *pairs, uint64_t a, uint64_t b)
{
    if (!pairs->room)
        return FW_NONE;
    const struct fw_pair *slot = slot_of(pairs, a, b);

    return slot->used ? slot->value : FW_NONE;
}

void
fw_pairs_free(struct fw_pairs *pairs)
{
    free(pairs->slots);
    *pairs = (struct fw_pairs){0};
}
