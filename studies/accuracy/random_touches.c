/* random_touches FILE NUMBER SEED r|x: touch random pages of a file through a shared mapping.
 *
 * With x the mapping may be executed. Prints how many pages of the file are in memory at each of
 * SAMPLES times, and at its end the sum of the first byte of each touched page.
 * studies/accuracy/on_reclaim.py computes the same pages.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { PAGE = 4096, SAMPLES = 20 };

/* splitmix64 */
static uint64_t
mixed(uint64_t number)
{
    number += UINT64_C(0x9e3779b97f4a7c15);
    number = (number ^ number >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    number = (number ^ number >> 27) * UINT64_C(0x94d049bb133111eb);
    return number ^ number >> 31;
}

static uint64_t
cached(void *bytes, uint64_t pages, unsigned char *present)
{
    uint64_t count = 0;
    if (mincore(bytes, pages * PAGE, present))
        exit(1);
    for (uint64_t page = 0; page < pages; page++)
        count += present[page] & 1;
    return count;
}

int
main(int argc, char **argv)
{
    struct stat status;
    int file = argc == 5 ? open(argv[1], O_RDONLY) : -1;
    if (file < 0 || fstat(file, &status))
        return 1;
    uint64_t pages = (uint64_t)status.st_size / PAGE;
    uint64_t number = strtoull(argv[2], NULL, 10), seed = strtoull(argv[3], NULL, 10);
    int rights = PROT_READ | (argv[4][0] == 'x' ? PROT_EXEC : 0);
    unsigned char *bytes = mmap(NULL, pages * PAGE, rights, MAP_SHARED, file, 0);
    unsigned char *present = malloc(pages);
    if (bytes == MAP_FAILED || !present || number < SAMPLES)
        return 1;
    uint64_t sum = 0;
    for (uint64_t touch = 0; touch < number; touch++) {
        sum += *(volatile unsigned char *)&bytes[mixed(seed << 32 | touch) % pages * PAGE];
        if ((touch + 1) % (number / SAMPLES) == 0)
            printf("cached %" PRIu64 "\n", cached(bytes, pages, present));
    }
    printf("sum %" PRIu64 "\n", sum);
    return 0;
}
