/* An index as search engines have it, through mappings: a dictionary of sorted terms, and postings.
 *
 *     terms make FOLDER TERMS       write FOLDER/terms.tim and FOLDER/terms.doc
 *     terms find FOLDER NUMBER      look NUMBER terms up, and sum up the postings of each
 *
 * A block of the dictionary has 64 terms of 64 bytes. The first level, the first term of each
 * block, is computed, as search engines keep it in memory. The postings of a term have up to 6
 * pages.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME = 48, IN_BLOCK = 64, PAGE = 4096, MOST_PAGES = 6 };

struct term {
    char name[NAME];
    uint64_t at, length; /* of its postings in bytes */
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

static FILE *
made(const char *folder, const char *name)
{
    char path[PAGE];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    if (file == NULL) {
        perror(path);
        exit(1);
    }
    return file;
}

static int
make(const char *folder, uint64_t terms)
{
    FILE *dictionary = made(folder, "terms.tim"), *postings = made(folder, "terms.doc");
    uint64_t at = 0, value;
    for (uint64_t i = 0; i < terms; i++) {
        struct term term = {.at = at, .length = 64 + random_number() % 192};
        if (i % 256 == 0) { /* a frequent term */
            term.length = PAGE + random_number() % (PAGE * (MOST_PAGES - 1));
        }
        snprintf(term.name, sizeof(term.name), "term-%012" PRIu64, i);
        fwrite(&term, sizeof(term), 1, dictionary);
        for (uint64_t done = 0; done < term.length; done += sizeof(value)) {
            value = random_number();
            fwrite(&value, sizeof(value), 1, postings);
            at += sizeof(value);
        }
    }
    return fclose(dictionary) != 0 || fclose(postings) != 0;
}

static const char *
mapped(const char *folder, const char *name, size_t *size)
{
    char path[PAGE];
    struct stat status;
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &status) != 0) {
        perror(path);
        exit(1);
    }
    *size = (size_t)status.st_size;
    void *at = mmap(NULL, *size, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (at == MAP_FAILED) {
        perror(path);
        exit(1);
    }
    return at;
}

static const struct term *
in_block(const struct term *block, uint64_t terms, const char *name)
{
    uint64_t low = 0, high = terms;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        int order = strncmp(block[middle].name, name, NAME);
        if (order == 0) {
            return &block[middle];
        }
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return NULL;
}

static int
find(const char *folder, uint64_t number)
{
    size_t dictionary_size, postings_size;
    const struct term *terms = (const void *)mapped(folder, "terms.tim", &dictionary_size);
    const char *postings = mapped(folder, "terms.doc", &postings_size);
    uint64_t all = dictionary_size / sizeof(*terms), sum = 0;
    for (uint64_t i = 0; i < number; i++) {
        char name[NAME];
        uint64_t wanted = random_number() % all;
        wanted = i % 4 == 0 ? wanted / 256 * 256 : wanted;
        snprintf(name, sizeof(name), "term-%012" PRIu64, wanted);
        uint64_t first = wanted / IN_BLOCK * IN_BLOCK;
        uint64_t left = all - first < IN_BLOCK ? all - first : IN_BLOCK;
        const struct term *term = in_block(terms + first, left, name);
        for (uint64_t done = 0; term != NULL && done + 8 <= term->length; done += 8) {
            uint64_t value;
            memcpy(&value, postings + term->at + done, sizeof(value));
            sum += value;
        }
    }
    printf("%" PRIu64 "\n", sum);
    return 0;
}

int
main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: terms make|find FOLDER NUMBER\n");
        return 2;
    }
    uint64_t number = strtoull(argv[3], NULL, 10);
    return strcmp(argv[1], "make") == 0 ? make(argv[2], number) : find(argv[2], number);
}
