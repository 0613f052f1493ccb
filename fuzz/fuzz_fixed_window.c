/* libFuzzer target: the one-pass core against a naive loop, baseline and AVX2.
 *
 * Build: clang -g -O1 -fsanitize=fuzzer,address,undefined -Iemulator
 *        fuzz/fuzz_fixed_window.c emulator/core/fixed/{fixed_window,sweep_simd,touches}.c
 *
 * An input is a largest window, file lengths, and runs of accesses of three bytes each; some
 * start far away, so that gaps of all widths occur.
 */
#include "core/fixed/fixed_window.h"
#include "core/fixed/sweep_simd.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_ACCESSES = 300, FILES = 4, WINDOWS = 160, NEAR = 128 };

struct input {
    uint32_t file[MAX_ACCESSES];
    uint64_t page[MAX_ACCESSES];
    int64_t file_pages[FILES];
    uint32_t max_window;
    size_t n;
};

static void
decode(struct input *in, const uint8_t *data, size_t size)
{
    static const uint64_t FAR[] = {0, 1 << 16, 1ULL << 32, UINT64_MAX - 2 * NEAR};
    in->n = 0;
    in->max_window = size > 0 ? data[0] % WINDOWS : 0;
    for (size_t f = 0; f < FILES; f++)
        in->file_pages[f] = 1 + f < size ? (int64_t)data[1 + f] - 1 : -1;
    for (size_t at = 1 + FILES; at + 3 <= size; at += 3) {
        uint64_t far = FAR[data[at + 1] < 250 ? 0 : data[at + 1] % 4];
        unsigned run = data[at] < 128 ? 1 : data[at] - 127;
        for (unsigned i = 0; i < run && in->n < MAX_ACCESSES; i++) {
            in->file[in->n] = data[at] % FILES;
            in->page[in->n++] = far + data[at + 2] % NEAR + i;
        }
    }
}

/* Pages as the naive loop counts them: a request may reach beyond 64 bits. */
__extension__ typedef unsigned __int128 wide;

struct request {
    uint32_t file;
    wide page;
};

static wide
end_of(const struct input *in, uint32_t file)
{
    if (in->file_pages[file] < 0)
        return ~(wide)0;
    wide end = (wide)in->file_pages[file];
    for (size_t i = 0; i < in->n; i++)
        if (in->file[i] == file && in->page[i] >= end)
            end = (wide)in->page[i] + 1;
    return end;
}

static bool
is_loaded(const struct request *requests, size_t n, uint32_t file, wide page, uint64_t window)
{
    for (size_t i = 0; i < n; i++)
        if (requests[i].file == file && requests[i].page <= page &&
            page - requests[i].page <= window)
            return true;
    return false;
}

static void
naive(const struct input *in, uint64_t window, int64_t *requests, int64_t *loaded)
{
    struct request made[MAX_ACCESSES];
    size_t n = 0;
    *loaded = 0;
    for (size_t i = 0; i < in->n; i++) {
        uint32_t file = in->file[i];
        wide page = in->page[i], end = end_of(in, file);
        if (is_loaded(made, n, file, page, window))
            continue;
        for (wide p = page; p <= page + window && p < end; p++)
            *loaded += !is_loaded(made, n, file, p, window);
        made[n++] = (struct request){.file = file, .page = page};
    }
    *requests = (int64_t)n;
}

static void
check(const struct input *in, enum fw_isa isa)
{
    int64_t requests[WINDOWS], loaded[WINDOWS];
    struct fw_counts counts = {.requests = requests, .loaded = loaded};
    struct fw_accesses accesses = {.file = in->file,
                                   .page = in->page,
                                   .n = in->n,
                                   .file_pages = in->file_pages,
                                   .n_files = FILES};
    if (fw_run(&accesses, in->max_window, isa, &counts))
        abort();
    for (uint32_t window = 0; window <= in->max_window; window += 1 + window / 8) {
        int64_t f, pages;
        naive(in, window, &f, &pages);
        if (f != requests[window] || pages != loaded[window] || (window == 0 && f != counts.tap)) {
            fprintf(stderr, "window %u: F %ld, expected %ld; pages %ld, expected %ld\n", window,
                    (long)requests[window], (long)f, (long)loaded[window], (long)pages);
            abort();
        }
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct input in;
    decode(&in, data, size);
    check(&in, FW_BASELINE);
    if (sweep_loop_for(FW_AVX2))
        check(&in, FW_AVX2);
    return 0;
}
