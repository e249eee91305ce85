#ifndef NF_TESTS_FUZZ_REPLAY_H
#define NF_TESTS_FUZZ_REPLAY_H
/* One input from a file, as a fuzzer found it or AFL hands it over. */
#include <stdint.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* @return 0, or 1 if it cannot be read */
static int fuzz_replay(const char *path)
{
    static uint8_t data[1 << 20];
    FILE *file = fopen(path, "rb");

    if (file == NULL) {
        perror(path);
        return 1;
    }
    LLVMFuzzerTestOneInput(data, fread(data, 1, sizeof(data), file));
    fclose(file);
    return 0;
}
#endif
