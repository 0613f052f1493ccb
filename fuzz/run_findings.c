/* Run a fuzz target over files, without libFuzzer: gcc … run_findings.c fuzz_TARGET.c …; ./a.out
 * FILE... The tests do so with every finding (tests/test_fuzz_findings.py). */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

static int
run_file(const char *path)
{
    static uint8_t room[1 << 20];
    FILE *file = fopen(path, "rb");

    if (file == NULL) {
        perror(path);
        return 1;
    }
    size_t size = fread(room, 1, sizeof(room), file);
    int failed = ferror(file);
    fclose(file);
    uint8_t *input = malloc(size + (size == 0)); /* one byte too far is found */
    if (failed || input == NULL)
        return 1;
    for (size_t i = 0; i < size; i++)
        input[i] = room[i];
    LLVMFuzzerTestOneInput(input, size);
    free(input);
    printf("%s\n", path);
    return 0;
}

int
main(int n, char **paths)
{
    int failed = n < 2;

    for (int i = 1; i < n; i++)
        failed |= run_file(paths[i]);
    return failed;
}
