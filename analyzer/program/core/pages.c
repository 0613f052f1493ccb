#include "pages.h"
#include "errors.h"
#include "evidence.h"

#include <stdlib.h>

/* Bits of the pages [first, end) in the word that begins at page ``base``. */
static uint64_t
bits_of(uint64_t base, uint64_t first, uint64_t end)
{
    uint64_t low = first > base ? first - base : 0, high = end - base < 64 ? end - base : 64;
    uint64_t below_high = high < 64 ? (UINT64_C(1) << high) - 1 : UINT64_MAX;

    return below_high & ~((UINT64_C(1) << low) - 1);
}

static int
word_at(struct fw_pages *pages, uint32_t file, uint64_t number, struct fw_word **word)
{
    uint32_t *row = fw_pairs_at(&pages->index, file, number);

    if (!row)
        return FW_NO_MEMORY;
    if (*row == FW_NONE) {
        if (pages->n >= pages->most)
            return FW_TOO_MUCH;
        if (!fw_reserve((void **)&pages->words, &pages->room, pages->n + 1, sizeof(**word)))
            return FW_NO_MEMORY;
        *row = (uint32_t)pages->n++;
        pages->words[*row] = (struct fw_word){.number = number, .file = file};
    }
    *word = &pages->words[*row];
    return FW_OK;
}

int
fw_pages_add(struct fw_pages *pages, enum fw_set set, uint32_t file, uint64_t first, uint64_t end)
{
    for (uint64_t base = first & ~UINT64_C(63); base < end; base += 64) {
        struct fw_word *word;
        int error = word_at(pages, file, base / 64, &word);
        if (error)
            return error;
        word->bits[set] |= bits_of(base, first, end);
    }
    return FW_OK;
}

bool
fw_pages_any(const struct fw_pages *pages, enum fw_set set, uint32_t file, uint64_t first,
             uint64_t end)
{
    for (uint64_t base = first & ~UINT64_C(63); base < end; base += 64) {
        uint32_t row = fw_pairs_get(&pages->index, file, base / 64);
        if (row != FW_NONE && pages->words[row].bits[set] & bits_of(base, first, end))
            return true;
    }
    return false;
}

static int
by_place(const void *left, const void *right)
{
    const struct fw_word *a = left, *b = right;

    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

void
fw_pages_sort(struct fw_pages *pages)
{
    if (pages->n)
        qsort(pages->words, pages->n, sizeof(*pages->words), by_place);
}

void
fw_pages_free(struct fw_pages *pages)
{
    fw_pairs_free(&pages->index);
    free(pages->words);
    pages->words = NULL;
}
