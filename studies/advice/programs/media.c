/* A media file that is read in order, while the index of its samples is read at random.
 *
 *     media make FOLDER KIB SAMPLES     write FOLDER/media.dat and FOLDER/media.idx
 *     media play FOLDER SEEKS           read media.dat in pieces of 32 KiB; SEEKS times meanwhile,
 *                                       search media.idx for a time
 *
 * A sample of the index is its time and its place, sorted by time, as a player of another track or
 * of chapters searches them.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 32 << 10, LONGEST_PATH = 4096 };

struct sample {
    uint64_t time, place;
};

static uint64_t state = 88172645463325252u;

static uint64_t
random_number(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static int
opened(const char *folder, const char *name, int flags)
{
    char path[LONGEST_PATH];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    int fd = open(path, flags, 0644);
    if (fd < 0) {
        perror(path);
        exit(1);
    }
    return fd;
}

static void
put(int fd, const void *bytes, size_t size)
{
    if (write(fd, bytes, size) != (ssize_t)size) {
        perror("write");
        exit(1);
    }
}

static int
make(const char *folder, uint64_t kib, uint64_t samples)
{
    int data = opened(folder, "media.dat", O_WRONLY | O_CREAT | O_TRUNC);
    int index = opened(folder, "media.idx", O_WRONLY | O_CREAT | O_TRUNC);
    static uint64_t kilobyte[128];
    for (uint64_t i = 0; i < kib; i++) {
        for (size_t j = 0; j < sizeof(kilobyte) / sizeof(*kilobyte); j++) {
            kilobyte[j] = random_number();
        }
        put(data, kilobyte, sizeof(kilobyte));
    }
    for (uint64_t i = 0; i < samples; i++) {
        struct sample sample = {.time = 1000 * i, .place = random_number() % (kib << 10)};
        put(index, &sample, sizeof(sample));
    }
    return close(data) != 0 || close(index) != 0;
}

static uint64_t
place_of(int index, uint64_t samples, uint64_t time)
{
    struct sample sample = {0};
    uint64_t low = 0, high = samples;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (pread(index, &sample, sizeof(sample), (off_t)(middle * sizeof(sample))) !=
            (ssize_t)sizeof(sample)) {
            perror("pread");
            exit(1);
        }
        low = sample.time < time ? middle + 1 : low;
        high = sample.time < time ? high : middle;
    }
    return sample.place;
}

static int
play(const char *folder, uint64_t seeks)
{
    static char piece[PIECE];
    struct stat status, of_index;
    int data = opened(folder, "media.dat", O_RDONLY), index = opened(folder, "media.idx", O_RDONLY);
    if (fstat(data, &status) != 0 || fstat(index, &of_index) != 0) {
        perror("fstat");
        return 1;
    }
    uint64_t samples = (uint64_t)of_index.st_size / sizeof(struct sample), sum = 0, sought = 0;
    uint64_t pieces = (uint64_t)status.st_size / PIECE;
    for (uint64_t at = 0; read(data, piece, sizeof(piece)) > 0; at++) {
        for (; sought < seeks && sought * pieces < at * seeks; sought++) {
            sum += place_of(index, samples, random_number() % samples * 1000);
        }
        sum += (unsigned char)piece[0];
    }
    printf("%" PRIu64 "\n", sum);
    return 0;
}

int
main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "make") == 0) {
        return make(argv[2], strtoull(argv[3], NULL, 10), strtoull(argv[4], NULL, 10));
    }
    if (argc == 4 && strcmp(argv[1], "play") == 0) {
        return play(argv[2], strtoull(argv[3], NULL, 10));
    }
    fprintf(stderr, "usage: media make FOLDER KIB SAMPLES | media play FOLDER SEEKS\n");
    return 2;
}
