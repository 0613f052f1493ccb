/* See disk.h. */
#include "disk.h"

#include "stored.h"

#include <math.h>
#include <stdlib.h>

enum { SECTOR = 512, BIO_FOLIOS = 256 };
static const double LONGEST_NS = 1e16;          /* of a run on a device that is too slow for it */
static const uint32_t USED = UINT32_C(1) << 31; /* of a page's number: somebody needed it */

/* A request that grows: Bio and _split of emulator/linux/requests.py. */
struct cut {
    struct lx_read read;
    uint64_t next; /* sector that would go on with it */
    int64_t segments;
    uint32_t folios; /* of its bio so far */
    bool open;
};

void
lx_disk_renew(struct lx_disk *disk)
{
    *disk = (struct lx_disk){.nr_requests = disk->nr_requests,
                             .nr_writes = disk->nr_writes,
                             .nr_driver_tags = disk->nr_driver_tags,
                             .requests = disk->requests,
                             .room = disk->room,
                             .accepted = disk->accepted,
                             .writes = disk->writes,
                             .spans = disk->spans,
                             .span_room = disk->span_room};
}

static bool
make_room(struct lx_disk *disk)
{
    size_t room = 2 * disk->room + 1024;
    uint64_t bytes = room * sizeof(*disk->requests);
    void *requests = bytes <= LX_MOST_BYTES ? realloc(disk->requests, bytes) : NULL;
    if (!requests)
        return false;
    disk->requests = requests;
    size_t *accepted = realloc(disk->accepted, room * sizeof(*accepted));
    if (!accepted)
        return false;
    disk->accepted = accepted;
    size_t *writes = realloc(disk->writes, room * sizeof(*writes));
    if (!writes)
        return false;
    disk->writes = writes;
    disk->room = room;
    return true;
}

/* The request that will be sent next, new; NULL without memory. */
static struct lx_request *
next_request(struct lx_disk *disk)
{
    if (disk->n_requests == disk->room && !make_room(disk)) {
        disk->error = LX_NO_MEMORY;
        return NULL;
    }
    disk->requests[disk->n_requests] =
        (struct lx_request){.begin_ns = INFINITY, .done_ns = INFINITY};
    return &disk->requests[disk->n_requests];
}

static void
submit(struct lx_disk *disk, size_t row)
{
    struct lx_request *request = &disk->requests[row];
    request->begin_ns = lx_later(disk->now_ns, disk->busy_ns);
    request->done_ns = lx_device_submit(&disk->device, disk->now_ns, request->read);
    request->copied = lx_device_copied(&disk->device);
    disk->busy_ns = lx_later(disk->busy_ns, request->done_ns);
    disk->accepted[disk->n_accepted++] = row;
    if (request->write)
        disk->writes[disk->n_writes++] = row;
    if (!(request->done_ns <= LONGEST_NS))
        disk->error = LX_BAD_DEVICE;
}

/* When there is room for one more request beside ``n`` accepted, of which ``most`` fit in. */
static double
room_from(const struct lx_disk *disk, const size_t *accepted, size_t n, size_t most)
{
    return n < most ? 0 : disk->requests[accepted[n - most]].done_ns;
}

double
lx_disk_room(const struct lx_disk *disk, bool write, size_t promised)
{
    size_t most = disk->nr_requests > promised ? disk->nr_requests - promised : 1;
    double from_ns = room_from(disk, disk->accepted, disk->n_accepted, most);
    if (from_ns <= disk->now_ns && write)
        from_ns = room_from(disk, disk->writes, disk->n_writes, disk->nr_writes);
    return from_ns;
}

bool
lx_disk_worker_runs(const struct lx_disk *disk)
{
    return room_from(disk, disk->accepted, disk->n_accepted, disk->nr_driver_tags) > disk->now_ns;
}

double
lx_disk_accept(struct lx_disk *disk, size_t *next, size_t end)
{
    for (; *next < end && !disk->error; ++*next) {
        double from_ns = lx_disk_room(disk, disk->requests[*next].write, 0);
        if (from_ns > disk->now_ns)
            return from_ns;
        submit(disk, *next);
    }
    return 0;
}

static size_t
send(struct lx_disk *disk, struct lx_read read)
{
    size_t row = disk->n_requests++;
    read.unlimited = disk->unlimited;
    disk->requests[row].read = read;
    disk->requests[row].write = disk->write;
    if (disk->outside == row && !disk->deferred)
        lx_disk_accept(disk, &disk->outside, disk->n_requests);
    return row;
}

size_t
lx_disk_send(struct lx_disk *disk, struct lx_read read)
{
    return next_request(disk) ? send(disk, read) : LX_NONE;
}

double
lx_disk_there(const struct lx_disk *disk, size_t request)
{
    double there_ns = disk->requests[request].done_ns;
    while (disk->requests[request].goes_on)
        there_ns = lx_later(there_ns, disk->requests[++request].done_ns);
    return there_ns;
}

/* Send a part of a bio, which goes on in the next request if that is not the last. */
static void
send_part(struct lx_disk *disk, struct cut *cut, bool last)
{
    size_t row = send(disk, cut->read);
    disk->requests[row].goes_on = !last && cut->read.bios == 1;
}

static void
close_bio(struct lx_disk *disk, struct cut *cut)
{
    if (cut->open)
        send_part(disk, cut, true);
    cut->open = false;
}

static void
open_bio(struct lx_disk *disk, struct cut *cut, uint64_t sector)
{
    *cut = (struct cut){.read = {.sector = sector, .bios = 1}, .open = next_request(disk)};
}

/* Go on with the bio in another request. */
static void
split(struct lx_disk *disk, struct cut *cut)
{
    send_part(disk, cut, false);
    cut->read = (struct lx_read){
        .sector = cut->read.sector + cut->read.sectors, .sectors = 0, .bios = 1, .meta = false};
    cut->segments = 0;
    cut->open = next_request(disk);
}

/* Add the contiguously stored part of a folio. */
static void
add(struct lx_kernel *k, struct cut *cut, uint64_t sector, int64_t sectors)
{
    const struct lx_machine *limits = k->machine;
    int64_t most = lx_max_sectors(limits);
    int64_t longest = limits->max_segment_size / SECTOR;
    if (cut->open && cut->next != sector)
        close_bio(k->disk, cut);
    if (!cut->open)
        open_bio(k->disk, cut, sector);
    cut->next = sector + (uint64_t)sectors;
    for (int64_t left = sectors; left && cut->open;) {
        int64_t so_far = (int64_t)cut->read.sectors;
        int64_t taken = lx_min(lx_min(left, longest), most - so_far);
        if (!taken || cut->segments == limits->max_segments) {
            split(k->disk, cut);
            continue;
        }
        cut->read.bios += left == sectors && so_far && cut->folios % BIO_FOLIOS == 0;
        left -= taken;
        cut->read.sectors += (uint64_t)taken;
        cut->segments++;
    }
    cut->folios++;
}

/* Add the stored part of sectors [first, behind) of a file; whether there is any. */
static bool
add_folio(struct lx_kernel *k, const struct lx_inode *inode, struct cut *cut, uint64_t first,
          uint64_t behind)
{
    if (!inode->n_extents) {
        add(k, cut, ((uint64_t)inode->row << LX_FILE_BITS) + first, (int64_t)(behind - first));
        return true;
    }
    bool any = false;
    struct lx_stored part = lx_stored_of(k, inode, first, behind);
    while (lx_stored_next(&part)) {
        add(k, cut, part.sector, (int64_t)(part.high - part.low));
        any = true;
    }
    return any;
}

/* The request that is open brings a folio. */
static void
expect(struct lx_kernel *k, struct lx_inode *inode, uint64_t index, unsigned order)
{
    struct lx_disk *disk = k->disk;
    for (uint64_t page = index; page < index + (UINT64_C(1) << order); page++) {
        uint32_t *number = lx_number(&k->arena, &inode->coming, page);
        if (number)
            *number = (uint32_t)disk->n_requests + 1;
    }
    disk->requests[disk->n_requests].pages += UINT32_C(1) << order;
}

/* The next request brings the pages of a run that lie in [first, end). */
static void
expect_block(struct lx_kernel *k, struct lx_inode *inode, uint64_t first, uint64_t end)
{
    for (size_t i = 0; i < k->run_length; i++) {
        const struct lx_piece *piece = &k->run[i]; /* single pages: no large folios here */
        uint64_t page = piece->index > first ? piece->index : first;
        uint64_t behind = piece->index + piece->folios;
        for (; page < behind && page < end; page++)
            expect(k, inode, page, 0);
    }
}

/* TimedKernel._read_blocks. */
static void
read_blocks(struct lx_kernel *k, struct lx_inode *inode)
{
    struct lx_disk *disk = k->disk;
    const struct lx_extent *extents = k->program->extents + inode->extents;
    uint64_t block = inode->block_pages, unit = (uint64_t)k->machine->page_size / SECTOR;
    uint64_t lowest = UINT64_MAX, highest = 0;
    for (size_t i = 0; i < k->run_length; i++) {
        const struct lx_piece *piece = &k->run[i];
        uint64_t last = piece->index + piece->folios - 1;
        lowest = piece->index < lowest ? piece->index : lowest;
        highest = last > highest ? last : highest;
        disk->pages += lx_max(lx_min((int64_t)last, inode->last) - (int64_t)piece->index + 1, 0);
    }
    for (uint64_t at = lowest / block * block; at <= highest; at += block) {
        size_t row = lx_extent_at(extents, inode->n_extents, at * unit);
        if (!inode->n_extents || extents[row].at != at * unit || !extents[row].read)
            continue;
        struct lx_read read = {.sector = extents[row].sector, .bios = 1, .meta = false};
        uint64_t most = (uint64_t)lx_block_sectors(k->machine), left = extents[row].sectors;
        disk->block_sectors += (int64_t)left;
        for (int64_t parts = lx_block_parts(k, inode, left); parts; parts--) {
            if (!next_request(disk))
                return;
            read.sectors = parts > 1 ? most : left;
            if (parts == 1)
                expect_block(k, inode, at, at + block);
            size_t row = send(disk, read);
            disk->held = disk->held < disk->held_end ? disk->held : row;
            disk->held_end = row + 1;
            read.sector += read.sectors;
            left -= read.sectors;
        }
    }
}

void
lx_read_run(struct lx_kernel *k, struct lx_inode *inode)
{
    if (inode->block_pages) {
        if (k->run_length)
            read_blocks(k, inode);
        return;
    }
    uint64_t unit = (uint64_t)k->machine->page_size / SECTOR;
    struct cut cut = {0};
    for (size_t i = 0; i < k->run_length; i++) {
        const struct lx_piece *piece = &k->run[i];
        for (uint64_t at = 0; at < piece->folios && !k->disk->error; at++) {
            uint64_t index = piece->index + (at << piece->order);
            uint64_t behind = index + (UINT64_C(1) << piece->order);
            if (add_folio(k, inode, &cut, index * unit, behind * unit) && cut.open)
                expect(k, inode, index, piece->order);
        }
        k->disk->pages += (int64_t)piece->folios << piece->order;
    }
    close_bio(k->disk, &cut);
}

size_t
lx_disk_use(struct lx_kernel *k, struct lx_needed needed)
{
    struct lx_disk *disk = k->disk;
    struct lx_tree *coming = &needed.inode->coming;
    uint32_t number = lx_number_at(coming, (uint64_t)needed.first) & ~USED;
    if (!number)
        return LX_NONE;
    struct lx_request *request = &disk->requests[number - 1];
    for (int64_t page = needed.first; page < needed.behind; page++) {
        uint32_t *of_page = lx_number(&k->arena, coming, (uint64_t)page);
        if (!of_page || *of_page != number)
            continue; /* used before */
        *of_page |= USED;
        request->used++;
    }
    return number - 1;
}

bool
lx_disk_is_coming(struct lx_kernel *k, struct lx_inode *inode, uint64_t page)
{
    uint32_t number = lx_number_at(&inode->coming, page) & ~USED;
    return number && lx_disk_there(k->disk, number - 1) > k->disk->now_ns;
}

void
lx_disk_add_span(struct lx_disk *disk, double from_ns, double until_ns)
{
    if (disk->n_spans == disk->span_room) {
        size_t room = 2 * disk->span_room + 1024;
        void *spans = realloc(disk->spans, room * sizeof(*disk->spans));
        if (!spans) {
            disk->error = LX_NO_MEMORY;
            return;
        }
        disk->spans = spans;
        disk->span_room = room;
    }
    disk->spans[disk->n_spans++] = (struct lx_span){.from_ns = from_ns, .until_ns = until_ns};
}

double
lx_disk_wasted(const struct lx_disk *disk)
{
    double total = 0;
    size_t first = 0;
    for (size_t i = 0; i < disk->n_accepted; i++) {
        const struct lx_request *request = &disk->requests[disk->accepted[i]];
        double overlap = 0;
        while (first < disk->n_spans && disk->spans[first].until_ns <= request->begin_ns)
            first++;
        for (size_t row = first; row < disk->n_spans && disk->spans[row].from_ns < request->done_ns;
             row++)
            overlap += lx_sooner(disk->spans[row].until_ns, request->done_ns) -
                       lx_later(disk->spans[row].from_ns, request->begin_ns);
        if (request->pages)
            total += overlap * (request->pages - request->used) / request->pages;
    }
    return total;
}

void
lx_disk_free(struct lx_disk *disk)
{
    free(disk->requests);
    free(disk->accepted);
    free(disk->writes);
    free(disk->spans);
}
