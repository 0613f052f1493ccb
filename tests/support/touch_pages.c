/* touch_pages NONE|WILLNEED|POPULATE FILE PIECE: touch all pages of a mapped file, out of order.
 * touch_pages SPARSE FILE PIECE: touch the first page of each piece, in order.
 *
 * With WILLNEED the program first asks for the file in pieces of PIECE bytes (MADV_WILLNEED), with
 * POPULATE in one call (MADV_POPULATE_READ, Linux 5.14).
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { PAGE = 4096, STRIDE = 37, POPULATE_READ = 22 };

int
main(int argc, char **argv)
{
    struct stat status;
    int file = argc == 4 ? open(argv[2], O_RDONLY) : -1;
    if (file < 0 || fstat(file, &status))
        return 1;
    size_t size = (size_t)status.st_size, pages = size / PAGE, piece = (size_t)atol(argv[3]);
    char *bytes = mmap(NULL, size, PROT_READ, MAP_SHARED, file, 0);
    if (bytes == MAP_FAILED || piece == 0)
        return 1;
    if (!strcmp(argv[1], "WILLNEED"))
        for (size_t at = 0; at < size; at += piece)
            if (madvise(bytes + at, size - at < piece ? size - at : piece, MADV_WILLNEED))
                return 1;
    if (!strcmp(argv[1], "POPULATE") && madvise(bytes, size, POPULATE_READ))
        return 1;
    volatile int sum = 0;
    if (!strcmp(argv[1], "SPARSE")) {
        for (size_t at = 0; at < size; at += piece)
            sum += bytes[at];
        return 0;
    }
    for (size_t number = 0; number < pages; number++)
        sum += bytes[number * STRIDE % pages * PAGE];
    return 0;
}
