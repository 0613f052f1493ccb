/* foreread-advice: advises the kernel about the files of a list, for a program that is not rebuilt.
 *
 *     cc -std=c11 -O2 -shared -fPIC -o foreread-advice.so foreread-advice.c   (old glibc: -ldl)
 *     FOREREAD_ADVICE=LIST LD_PRELOAD=$PWD/foreread-advice.so COMMAND
 *
 * When the program opens a listed file, its descriptor is advised; when it maps one, the mapping
 * is, unless it is executable. The list (shim_list.py) is read before main, as a whole or not at
 * all. */
#undef _FORTIFY_SOURCE /* its headers define the functions that are defined here */
#undef _FILE_OFFSET_BITS
#undef _TIME_BITS
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LARGEST_LIST = 64 << 10, HEADS = 6, MAPPED = 3, LONGEST_NUMBER = 12 };
static const char magic[] = "foreread-advice 1\n";
/* The place of a line's head, modulo 3, is its POSIX_FADV_ and its MADV_ number. */
static const char *const heads[HEADS] = {"fadvise normal ",     "fadvise random ",
                                         "fadvise sequential ", "madvise normal ",
                                         "madvise random ",     "madvise sequential "};
static char list[LARGEST_LIST + 1]; /* with a NUL */
static const char *lines;           /* of the list, each "HEAD /PATH"; NULL: no advice */

/* Return the place of the head that a line begins with, and its path; HEADS if it is invalid. */
static int
take_head(const char *line, const char **path)
{
    int head = 0;
    while (head < HEADS && strncmp(line, heads[head], strlen(heads[head])) != 0) {
        head++;
    }
    *path = line + (head < HEADS ? strlen(heads[head]) : 0);
    return **path == '/' && strchr(*path, '\n') != NULL ? head : HEADS;
}

static bool
is_valid(size_t size)
{
    const char *at = list + sizeof(magic) - 1, *path;
    bool valid = strlen(list) == size && strncmp(list, magic, sizeof(magic) - 1) == 0;
    while (valid && at < list + size) {
        valid = take_head(at, &path) < HEADS;
        at = path + strcspn(path, "\n") + valid;
    }
    return valid;
}

__attribute__((constructor)) static void
read_list(void)
{
    const char *name = secure_getenv("FOREREAD_ADVICE"); /* NULL in a set-user-ID program */
    int saved = errno, fd = name != NULL ? open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    ssize_t size = read(fd, list, LARGEST_LIST); /* a regular file's, as a whole */
    if (size >= 0 && size < LARGEST_LIST && is_valid((size_t)size)) {
        lines = list + sizeof(magic) - 1;
    } else if (name != NULL) {
        (void)dprintf(STDERR_FILENO, "foreread-advice: cannot use the list of FOREREAD_ADVICE\n");
    }
    (void)close(fd);
    errno = saved;
}

/* Return the number of the advice for a descriptor's file, or for its mapping; -1 if there is none.
 */
static int
advice_for(int fd, bool is_mapping)
{
    char link[sizeof("/proc/self/fd/") + LONGEST_NUMBER], own[PATH_MAX];
    const char *at = lines, *path;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t length = lines != NULL && fd >= 0 ? readlink(link, own, sizeof(own)) : -1;
    while (length > 0 && *at != '\0') {
        int head = take_head(at, &path);
        at = strchr(path, '\n') + 1;
        bool same = at - path - 1 == length && memcmp(path, own, (size_t)length) == 0;
        if (same && is_mapping == (head >= MAPPED)) {
            return head % MAPPED;
        }
    }
    return -1;
}

static int
advised(int fd)
{
    int saved = errno, advice = advice_for(fd, false);
    (void)(advice >= 0 ? posix_fadvise(fd, 0, 0, advice) : 0);
    errno = saved;
    return fd;
}

/* ``next`` is the function that the program's call would reach without this library. */
#define NEXT(name)                                                                                 \
    static __typeof__(name) *_Atomic known;                                                        \
    __typeof__(name) *next = known;                                                                \
    known = next = next != NULL ? next : (__typeof__(name) *)dlsym(RTLD_NEXT, #name)
#define OPEN(name, at, largest, ...)                                                               \
    int name(__VA_ARGS__, int flags, ...)                                                          \
    {                                                                                              \
        NEXT(openat);                                                                              \
        va_list more;                                                                              \
        va_start(more, flags);                                                                     \
        bool makes = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;                          \
        int fd = next(at, path, flags | largest, makes ? va_arg(more, mode_t) : 0);                \
        va_end(more);                                                                              \
        return advised(fd);                                                                        \
    }
#define FOPEN(name)                                                                                \
    FILE *name(const char *path, const char *mode)                                                 \
    {                                                                                              \
        NEXT(name);                                                                                \
        FILE *file = next(path, mode);                                                             \
        advised(file != NULL ? fileno(file) : -1);                                                 \
        return file;                                                                               \
    }
#define MAP(name, offset_type)                                                                     \
    void *name(void *at, size_t length, int prot, int flags, int fd, offset_type offset)           \
    {                                                                                              \
        NEXT(name);                                                                                \
        void *map = next(at, length, prot, flags, fd, offset);                                     \
        int saved = errno, is_data = !(flags & MAP_ANONYMOUS) && !(prot & PROT_EXEC);              \
        int advice = map != MAP_FAILED && is_data ? advice_for(fd, true) : -1;                     \
        (void)(advice >= 0 ? madvise(map, length, advice) : 0);                                    \
        errno = saved;                                                                             \
        return map;                                                                                \
    }
OPEN(open, AT_FDCWD, 0, const char *path)
OPEN(openat, folder, 0, int folder, const char *path)
FOPEN(fopen)
MAP(mmap, off_t)
#ifdef __GLIBC__ /* musl has one size of offsets */
OPEN(open64, AT_FDCWD, O_LARGEFILE, const char *path)
OPEN(openat64, folder, O_LARGEFILE, int folder, const char *path)
OPEN(__open_2, AT_FDCWD, 0, const char *path)
OPEN(__open64_2, AT_FDCWD, O_LARGEFILE, const char *path)
OPEN(__openat_2, folder, 0, int folder, const char *path)
OPEN(__openat64_2, folder, O_LARGEFILE, int folder, const char *path)
FOPEN(fopen64)
MAP(mmap64, off64_t)
#endif
