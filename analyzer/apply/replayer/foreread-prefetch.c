/* foreread-prefetch: reads the ranges of a prefetch list into the page cache.
 *
 *     cc -std=c11 -O2 -static -o foreread-prefetch foreread-prefetch.c
 *     foreread-prefetch LIST
 *
 * Reads are asked for in the order of the list, at most MOST_UNDER_WAY ahead of the disk: the disk
 * always has work, and other readers wait only for that much. The list
 * (docs/explanation/prefetch.md) is checked completely before the first file is opened: a damaged
 * list is refused, with the line. Files that are missing, that became shorter or that are not
 * regular files are skipped. At most half of the memory that is available is filled.
 *
 * Exit status: 0 done, whatever was missing; 1 the list cannot be read; 2 wrong usage.
 */
#define _FILE_OFFSET_BITS 64
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

enum {
    LARGEST_LIST = 16 << 20,
    MOST_RANGES = 1 << 18,
    LONGEST_PATH = 4096, /* with its NUL */
    LARGEST_RANGE = 2 << 20,
    MOST_DIGITS = 18,
    MOST_ASKED = 32,
    MOST_UNDER_WAY = 512 << 10,
    USUAL_CHUNK = 128 << 10, /* for disks that do not report their largest request */
};

static const char magic[] = "foreread-prefetch 1\n";

/* ---- The list. ------------------------------------------------------------------------- */

/* Where reading stands; ``line`` is the number of the line that was read last. */
struct cursor {
    const char *at;
    const char *end;
    unsigned long line;
};

/* ``is_new_path``: the path is not that of the range before it. */
struct range {
    uint64_t offset;
    uint64_t length;
    bool is_new_path;
    char path[LONGEST_PATH];
};

struct text {
    const char *at;
    size_t size;
};

/* Take the next line. False at the end of the list. */
static bool
next_line(struct cursor *cursor, struct text *line)
{
    if (cursor->at == cursor->end) {
        return false;
    }
    const char *newline = memchr(cursor->at, '\n', (size_t)(cursor->end - cursor->at));
    const char *behind = newline != NULL ? newline : cursor->end;
    *line = (struct text){.at = cursor->at, .size = (size_t)(behind - cursor->at)};
    cursor->at = newline != NULL ? newline + 1 : cursor->end;
    cursor->line++;
    return true;
}

/* Take a decimal number, without zeros in front, from the front of a line. */
static bool
take_number(struct text *line, uint64_t *number)
{
    size_t digits = 0;
    *number = 0;
    while (digits < line->size && line->at[digits] >= '0' && line->at[digits] <= '9') {
        if (digits == MOST_DIGITS) {
            return false;
        }
        *number = *number * 10 + (uint64_t)(line->at[digits] - '0');
        digits++;
    }
    bool is_number = digits == 1 || (digits > 1 && line->at[0] != '0');
    line->at += digits;
    line->size -= digits;
    return is_number;
}

static bool
take_space(struct text *line)
{
    if (line->size == 0 || line->at[0] != ' ') {
        return false;
    }
    line->at++;
    line->size--;
    return true;
}

static bool
is_octal(char c)
{
    return c >= '0' && c <= '7';
}

/* Read a character, which may be written as \0 and three octal digits. -1 if invalid. */
static int
take_character(struct text *word)
{
    const char *at = word->at;
    size_t size = 1;
    int character = (unsigned char)at[0];
    if (character == '\\') {
        size = 5;
        if (word->size < size || at[1] != '0' || at[2] < '0' || at[2] > '3' || !is_octal(at[3]) ||
            !is_octal(at[4])) {
            return -1;
        }
        character = (at[2] - '0') * 64 + (at[3] - '0') * 8 + (at[4] - '0');
    } else if (character <= ' ' || character > '~') {
        return -1;
    }
    word->at += size;
    word->size -= size;
    return character;
}

/* Take the word that a line ends with as an absolute path. */
static bool
take_path(struct text *word, char *path)
{
    size_t length = 0;
    while (word->size > 0) {
        int character = take_character(word);
        if (character <= 0 || length == LONGEST_PATH - 1) {
            return false;
        }
        path[length++] = (char)character;
    }
    path[length] = '\0';
    return path[0] == '/';
}

static bool
is_header(struct text line)
{
    return line.size > 0 && line.at[0] >= 'a' && line.at[0] <= 'z';
}

/* Return the error in a line that should be a range, or NULL. */
static const char *
parse_range(struct text line, struct range *range)
{
    if (!take_number(&line, &range->offset) || !take_space(&line) ||
        !take_number(&line, &range->length)) {
        return "not a range: write OFFSET LENGTH PATH";
    }
    if (range->length < 1 || range->length > LARGEST_RANGE) {
        return "a length out of range";
    }
    range->is_new_path = line.size > 0;
    if (line.size > 0 && (!take_space(&line) || !take_path(&line, range->path))) {
        range->path[0] = '\0';
        return "not an absolute path";
    }
    return range->path[0] == '/' ? NULL : "not an absolute path";
}

/* Begin a list, after its head. Returns the error, or NULL. */
static const char *
begin_list(struct cursor *cursor, const char *list, size_t size)
{
    size_t first = sizeof(magic) - 1;
    *cursor = (struct cursor){.at = list, .end = list + size, .line = 1};
    if (size < first || memcmp(list, magic, first) != 0) {
        return "no prefetch list of version 1";
    }
    if (list[size - 1] != '\n') {
        for (const char *at = list; at < list + size; at++) {
            cursor->line += *at == '\n';
        }
        return "the end of the list is missing";
    }
    cursor->at += first;
    struct cursor ahead = *cursor;
    struct text line;
    while (next_line(&ahead, &line) && is_header(line)) {
        *cursor = ahead;
    }
    return NULL;
}

/* Read the next range; false at the end, and after an error, which is in ``why``. ``range`` holds
 * the previous one, all zeros at first. */
static bool
next_range(struct cursor *cursor, struct range *range, const char **why)
{
    struct text line;
    if (!next_line(cursor, &line)) {
        return false;
    }
    *why = parse_range(line, range);
    return *why == NULL;
}

/* Return the error in a list, and its line, or NULL. */
static const char *
check_list(const char *list, size_t size, unsigned long *line)
{
    struct cursor cursor;
    struct range range = {0};
    const char *why = begin_list(&cursor, list, size);
    for (unsigned long ranges = 0; why == NULL && next_range(&cursor, &range, &why); ranges++) {
        if (ranges == MOST_RANGES) {
            why = "more than 262144 ranges";
        }
    }
    *line = cursor.line;
    return why;
}

/* ---- Reading ahead. -------------------------------------------------------------------- */

/* Bytes that were asked for; ``last`` is where the last of them is. */
struct asked {
    int fd;
    uint64_t last;
    uint64_t length;
};

/* Requests in flight, oldest first from ``oldest`` on. */
struct under_way {
    struct asked asked[MOST_ASKED];
    unsigned oldest, count;
    uint64_t bytes;
};

/* The open file, and the counts of finished work. */
struct replay {
    int fd;
    uint64_t size;
    uint64_t chunk;
    dev_t device;  /* that ``chunk`` is of */
    uint64_t left; /* bytes that may still be read */
    unsigned long ranges, files, skipped;
    uint64_t bytes;
    struct under_way under_way;
};

/* Return the number that a file of /sys or /proc begins with after ``name``; 0 without one. */
static uint64_t
number_in(const char *path, const char *name)
{
    char text[4096];
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return 0;
    }
    size_t size = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[size] = '\0';
    const char *found = strstr(text, name);
    return found != NULL ? strtoull(found + strlen(name), NULL, 10) : 0;
}

/* Return an attribute of a disk's queue; of the disk that a partition is on, too. */
static uint64_t
queue_number(dev_t device, const char *name)
{
    static const char *const places[] = {"queue", "../queue"};
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        char path[128];
        snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/%s/%s", major(device), minor(device),
                 places[i], name);
        uint64_t found = number_in(path, "");
        if (found > 0) {
            return found;
        }
    }
    return 0;
}

/* Return whether the kernel cuts a readahead(2) at the window: 4.4 to 4.9 (mm/readahead.c,
 * force_page_cache_readahead); later ones read at least as much as one request holds. */
static bool
cuts_at_window(void)
{
    struct utsname kernel;
    unsigned release, series;
    return uname(&kernel) == 0 && sscanf(kernel.release, "%u.%u", &release, &series) == 2 &&
           release == 4 && series >= 4 && series < 10;
}

/* Return how many bytes one readahead(2) reads, in whole pages: the kernel drops what goes beyond
 * (a request of 127 KiB holds 31 pages of 4 KiB). */
static uint64_t
chunk_of(dev_t device)
{
    const char *name = cuts_at_window() ? "read_ahead_kb" : "max_sectors_kb";
    uint64_t chunk = queue_number(device, name) << 10, page = (uint64_t)sysconf(_SC_PAGESIZE);
    if (chunk == 0 || chunk > LARGEST_RANGE) {
        chunk = chunk == 0 ? USUAL_CHUNK : LARGEST_RANGE;
    }
    return chunk < page ? page : chunk / page * page;
}

/* Open a regular file, and nothing else: opening a device may do something. */
static int
open_regular(const char *path, struct stat *status)
{
    char link[64];
    int fd = -1, place = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (place < 0) {
        return -1;
    }
    if (fstat(place, status) == 0 && S_ISREG(status->st_mode)) {
        snprintf(link, sizeof(link), "/proc/self/fd/%d", place);
        fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    }
    close(place);
    return fd;
}

static void
go_to_file(struct replay *replay, const char *path)
{
    struct stat status;
    if (replay->fd >= 0) {
        close(replay->fd);
    }
    replay->fd = open_regular(path, &status);
    if (replay->fd < 0) {
        replay->skipped++;
        return;
    }
    (void)posix_fadvise(replay->fd, 0, 0, POSIX_FADV_RANDOM); /* waiting reads nothing more */
    replay->files++;
    replay->size = (uint64_t)status.st_size;
    if (replay->chunk == 0 || status.st_dev != replay->device) {
        replay->device = status.st_dev;
        replay->chunk = chunk_of(status.st_dev);
    }
}

/* Wait until the disk has completed the oldest request. */
static void
wait_for_oldest(struct under_way *under_way)
{
    struct asked *oldest = &under_way->asked[under_way->oldest];
    char last;
    (void)!pread(oldest->fd, &last, 1, (off_t)oldest->last);
    close(oldest->fd);
    under_way->bytes -= oldest->length;
    under_way->oldest = (under_way->oldest + 1) % MOST_ASKED;
    under_way->count--;
}

static void
make_room(struct under_way *under_way, uint64_t length)
{
    while (under_way->count == MOST_ASKED ||
           (under_way->count > 0 && under_way->bytes + length > MOST_UNDER_WAY)) {
        wait_for_oldest(under_way);
    }
}

/* Note a request; without a descriptor to wait with, nothing waits for it. */
static void
note_asked(struct under_way *under_way, int fd, uint64_t at, uint64_t length)
{
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own >= 0) {
        unsigned row = (under_way->oldest + under_way->count) % MOST_ASKED;
        under_way->asked[row] =
            (struct asked){.fd = own, .last = at + length - 1, .length = length};
        under_way->bytes += length;
        under_way->count++;
    }
}

/* Ask for a range of the open file, as far as the file goes and the memory may be filled. */
static void
read_ahead(struct replay *replay, const struct range *range)
{
    if (range->offset >= replay->size) {
        return;
    }
    uint64_t behind = range->offset + range->length;
    behind = behind < replay->size ? behind : replay->size;
    for (uint64_t at = range->offset; at < behind && replay->left > 0;) {
        uint64_t length = behind - at < replay->chunk ? behind - at : replay->chunk;
        length = length < replay->left ? length : replay->left;
        make_room(&replay->under_way, length);
        if (readahead(replay->fd, (off64_t)at, (size_t)length) != 0 &&
            posix_fadvise(replay->fd, (off_t)at, (off_t)length, POSIX_FADV_WILLNEED) != 0) {
            return; /* no file system that reads ahead */
        }
        note_asked(&replay->under_way, replay->fd, at, length);
        at += length;
        replay->left -= length;
        replay->bytes += length;
    }
    replay->ranges++;
}

/* Give way to whoever reads for itself, where the scheduler knows priorities. */
static void
give_way(void)
{
    enum { PROCESS = 1, SELF = 0, LOWEST_BEST_EFFORT = 2 << 13 | 7 };
    (void)syscall(SYS_ioprio_set, PROCESS, SELF, LOWEST_BEST_EFFORT);
}

static struct replay
replay_list(const char *list, size_t size)
{
    struct cursor cursor;
    struct range range = {0};
    const char *why = NULL;
    struct replay replay = {.fd = -1};
    replay.left = number_in("/proc/meminfo", "MemAvailable:") * 1024 / 2;
    if (replay.left == 0) { /* before Linux 3.14 */
        replay.left = number_in("/proc/meminfo", "MemFree:") * 1024 / 2;
    }
    (void)begin_list(&cursor, list, size);
    while (replay.left > 0 && next_range(&cursor, &range, &why)) {
        if (range.is_new_path) {
            go_to_file(&replay, range.path);
        }
        if (replay.fd >= 0) {
            read_ahead(&replay, &range);
        }
    }
    while (replay.under_way.count > 0) {
        wait_for_oldest(&replay.under_way);
    }
    if (replay.fd >= 0) {
        close(replay.fd);
    }
    return replay;
}

/* ---- The command. ---------------------------------------------------------------------- */

/* Return the list's text, to be freed, or NULL, where errno says why. */
static char *
read_list(const char *path, size_t *size)
{
    struct stat status;
    int fd = open_regular(path, &status);
    if (fd < 0) {
        errno = errno != 0 ? errno : EINVAL;
        return NULL;
    }
    char *text = malloc(LARGEST_LIST + 1);
    ssize_t got = 1;
    *size = 0;
    while (text != NULL && got > 0 && *size <= LARGEST_LIST) {
        got = read(fd, text + *size, LARGEST_LIST + 1 - *size);
        *size += got > 0 ? (size_t)got : 0;
    }
    int error = got < 0 ? errno : text == NULL ? ENOMEM : *size > LARGEST_LIST ? EFBIG : 0;
    close(fd);
    if (error != 0) {
        free(text);
        errno = error;
        return NULL;
    }
    return text;
}

int
main(int argc, char **argv)
{
    size_t size;
    unsigned long line;
    if (argc != 2 || argv[1][0] == '-') {
        fprintf(stderr, "usage: foreread-prefetch LIST\n");
        return 2;
    }
    errno = 0;
    char *list = read_list(argv[1], &size);
    if (list == NULL) {
        fprintf(stderr, "foreread-prefetch: %s: %s\n", argv[1], strerror(errno));
        return 1;
    }
    const char *why = check_list(list, size, &line);
    if (why != NULL) {
        fprintf(stderr, "foreread-prefetch: %s:%lu: %s\n", argv[1], line, why);
        free(list);
        return 1;
    }
    give_way();
    struct replay done = replay_list(list, size);
    free(list);
    printf("foreread-prefetch: %" PRIu64
           " KiB in %lu ranges, files opened %lu times; skipped %lu%s\n",
           done.bytes >> 10, done.ranges, done.files, done.skipped,
           done.left > 0 ? "" : "; stopped: no more memory");
    return 0;
}
