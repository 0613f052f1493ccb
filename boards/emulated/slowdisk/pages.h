/* SPDX-License-Identifier: GPL-2.0-only */
/* The memory that slowdisk.c keeps its data in. */
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/sched.h>

#include "older.h"

static struct page **disk_pages; /* single ones: a 32-bit kernel cannot map a large disk at once */
static unsigned long disk_page_count;

/* Move a piece of a request's data, which may lie across two pages of the disk. */
static void
move_piece(bool write, loff_t at, struct bio_vec *piece)
{
    char *data = bvec_kmap_local(piece);
    size_t length;

    for (size_t done = 0; done < piece->bv_len; done += length, at += length) {
        struct page *page = disk_pages[at >> PAGE_SHIFT];

        length = min_t(size_t, piece->bv_len - done, PAGE_SIZE - offset_in_page(at));
        if (write)
            memcpy_to_page(page, offset_in_page(at), data + done, length);
        else
            memcpy_from_page(data + done, page, offset_in_page(at), length);
    }
    if (!write)
        flush_dcache_page(piece->bv_page);
    kunmap_local(data);
}

static void
free_disk_pages(void)
{
    for (unsigned long i = 0; i < disk_page_count && disk_pages[i]; i++)
        __free_page(disk_pages[i]);
    kvfree(disk_pages);
}

/* Fails, rather than have processes killed, where memory is too small for the disk. */
static int
alloc_disk_pages(unsigned long kib)
{
    const gfp_t flags = GFP_HIGHUSER | __GFP_ZERO | __GFP_RETRY_MAYFAIL | __GFP_NOWARN;

    disk_page_count = DIV_ROUND_UP(kib, PAGE_SIZE >> 10);
    disk_pages = kvcalloc(disk_page_count, sizeof(*disk_pages), GFP_KERNEL);
    if (!disk_pages)
        return -ENOMEM;
    for (unsigned long i = 0; i < disk_page_count; i++) {
        disk_pages[i] = alloc_page(flags);
        if (!disk_pages[i]) {
            free_disk_pages();
            return -ENOMEM;
        }
        cond_resched();
    }
    return 0;
}
