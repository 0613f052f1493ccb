/*
 * Executes small programs on a board, cold, and prints the folios they brought into the page
 * cache: "readahead_guest DIRECTORY INSTANCE QUEUE", commands on standard input (see main).
 * INSTANCE is an ftrace instance, QUEUE the disk's folder in /sys/block.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096, ROWS = 64, CHUNK = 1 << 20, TRACE = 8 << 20 };
enum { EXEC = 1, SEQUENTIAL = 2, RANDOM = 4, SHARED = 16 }; /* MapFlag */

struct map {
    long handle, start, pages, address, flags;
    char *at;
};

static const char *directory, *instance, *queue;
static int handles[ROWS];
static struct map maps[ROWS];
static char data[2 * CHUNK], trace[TRACE];

static void
fail(const char *what)
{
    perror(what);
    exit(1);
}

static int
open_in(const char *folder, const char *name, int flags)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    int file = open(path, flags, 0644);
    if (file < 0)
        fail(path);
    return file;
}

static int
open_file(long number, int flags)
{
    char name[24];
    snprintf(name, sizeof(name), "%ld", number);
    return open_in(directory, name, flags);
}

static void
put(const char *folder, const char *name, const char *value)
{
    int file = open_in(folder, name, O_WRONLY | O_TRUNC);
    if (*value && write(file, value, strlen(value)) < 0)
        fail(name);
    close(file);
}

static void
make_file(long number, long size)
{
    int file = open_file(number, O_WRONLY | O_CREAT | O_TRUNC);
    for (long done = 0; done < size;) {
        long part = size - done < CHUNK ? size - done : CHUNK;
        if (write(file, data, (size_t)part) != part)
            fail("write");
        done += part;
    }
    fsync(file);
    close(file);
}

static int
reads_in_flight(void)
{
    int reads, writes;
    char text[64] = "";
    int file = open_in(queue, "inflight", O_RDONLY);
    if (read(file, text, sizeof(text) - 1) < 0 || sscanf(text, "%d %d", &reads, &writes) != 2)
        fail("inflight");
    close(file);
    return reads + writes;
}

/*
 * Wait until nothing is being read: what is locked decides what is mapped around, and is neither
 * dropped nor seen by mincore. A request that the disk has not begun is not in flight: it begins
 * once the kernel's worker runs. Another worker compares checksums (btrfs) before it unlocks.
 */
static void
wait_for_disk(void)
{
    for (int idle = 0; idle < 4; idle++) {
        if (reads_in_flight())
            idle = -1;
        usleep(100);
    }
}

static long
cached_pages(int file, size_t pages)
{
    unsigned char present[8192];
    long found = 0;
    void *at = mmap(NULL, pages * PAGE, PROT_READ, MAP_SHARED, file, 0);
    if (at == MAP_FAILED || pages > sizeof(present) || mincore(at, pages * PAGE, present) < 0)
        fail("mincore");
    for (size_t i = 0; i < pages; i++)
        found += present[i] & 1;
    munmap(at, pages * PAGE);
    return found;
}

/* Take a file out of the page cache; print its inode. */
static void
drop(long number)
{
    int file = open_file(number, O_RDONLY);
    struct stat status;
    fstat(file, &status);
    for (int tries = 0; tries < 200; tries++) {
        posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
        if (!cached_pages(file, ((size_t)status.st_size + PAGE - 1) / PAGE)) {
            printf("inode %ld %lx\n", number, (unsigned long)status.st_ino);
            close(file);
            return;
        }
        usleep(10000);
    }
    fail("a file stays cached");
}

static void
map(struct map *map)
{
    /* riscv64 with three levels of page tables has 256 GiB for a process. */
    long place = 0x1000000000 + (map - maps) * 0x40000000 + map->address % 512 * PAGE;
    int protection = PROT_READ;
    int how = MAP_FIXED | (map->flags & SHARED ? MAP_SHARED : MAP_PRIVATE);
    size_t length = (size_t)map->pages * PAGE;
    if (map->flags & EXEC)
        protection |= PROT_EXEC;
    else if (!(map->flags & SHARED))
        protection |= PROT_WRITE;
    map->at = mmap((void *)place, length, protection, how, handles[map->handle], map->start * PAGE);
    if (map->at == MAP_FAILED)
        fail("mmap");
    if (map->flags & SEQUENTIAL)
        madvise(map->at, length, MADV_SEQUENTIAL);
    if (map->flags & RANDOM)
        madvise(map->at, length, MADV_RANDOM);
}

static void
touch(struct map *area, long page, long write)
{
    if (!area->at)
        map(area);
    volatile char *byte = area->at + (page - area->start) * PAGE;
    if (write)
        *byte = 1;
    else
        (void)*byte;
}

static void
print_folios(void)
{
    int file = open_in(instance, "trace", O_RDONLY);
    size_t length = 0;
    for (ssize_t n; (n = read(file, trace + length, sizeof(trace) - 1 - length)) > 0;)
        length += (size_t)n;
    close(file);
    trace[length] = 0;
    for (char *line = strtok(trace, "\n"); line; line = strtok(NULL, "\n")) {
        unsigned long inode, offset, order = 0;
        char *at = strstr(line, " ino "), *place = strstr(line, "ofs=");
        char *size = strstr(line, "order=");
        if (!at || !place || sscanf(at, " ino %lx", &inode) != 1)
            continue;
        sscanf(place, "ofs=%lu", &offset);
        if (size)
            sscanf(size, "order=%lu", &order);
        printf("folio %lx %lu %lu\n", inode, offset / PAGE, order);
    }
}

/* Stop tracing, undo all maps and opens, print. */
static void
end(void)
{
    put(instance, "tracing_on", "0");
    for (int i = 0; i < ROWS; i++) {
        if (maps[i].at)
            munmap(maps[i].at, (size_t)maps[i].pages * PAGE);
        if (handles[i])
            close(handles[i]);
    }
    memset(handles, 0, sizeof(handles));
    memset(maps, 0, sizeof(maps));
    print_folios();
    printf("end\n");
}

int
main(int argc, char **argv)
{
    static const int ADVICE[] = {POSIX_FADV_NORMAL, POSIX_FADV_SEQUENTIAL, POSIX_FADV_RANDOM,
                                 POSIX_FADV_WILLNEED};
    char line[256], word[16], text[24];
    long a[6];
    if (argc != 4)
        return 2;
    directory = argv[1];
    instance = argv[2];
    queue = argv[3];
    while (fgets(line, sizeof(line), stdin)) {
        sscanf(line, "%15s %ld %ld %ld %ld %ld %ld", word, a, a + 1, a + 2, a + 3, a + 4, a + 5);
        if (!strcmp(word, "file")) {
            make_file(a[0], a[1]);
        } else if (!strcmp(word, "window")) {
            snprintf(text, sizeof(text), "%ld", a[0]);
            put(queue, "queue/read_ahead_kb", text);
        } else if (!strcmp(word, "drop")) {
            drop(a[0]);
        } else if (!strcmp(word, "go")) {
            put(instance, "trace", "");
            put(instance, "tracing_on", "1");
        } else if (!strcmp(word, "open")) {
            handles[a[0]] = open_file(a[1], O_RDONLY);
        } else if (!strcmp(word, "read")) {
            size_t count = (size_t)a[2] < sizeof(data) ? (size_t)a[2] : sizeof(data);
            if (pread(handles[a[0]], data, count, a[1]) < 0)
                fail("pread");
        } else if (!strcmp(word, "map")) {
            maps[a[0]] = (struct map){a[1], a[2], a[3], a[4], a[5], NULL};
        } else if (!strcmp(word, "touch")) {
            touch(&maps[a[0]], a[1], a[2]);
        } else if (!strcmp(word, "advise")) {
            posix_fadvise(handles[a[0]], a[2] * PAGE, a[3] * PAGE, ADVICE[a[1]]);
        } else if (!strcmp(word, "end")) {
            end();
        } else {
            return 2;
        }
        wait_for_disk();
    }
    return 0;
}
