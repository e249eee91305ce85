#ifndef NF_TESTS_UNIT_BIG_WORDS_H
#define NF_TESTS_UNIT_BIG_WORDS_H
/** @file big_words.h  Vectors of more than 2 GiB, for `make check-big`. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/** What the kernel says can be had. */
static inline unsigned long long big_available_kib(void)
{
    FILE *file = fopen("/proc/meminfo", "r");
    unsigned long long kib = 0;
    char line[200];

    while (file != NULL && fgets(line, sizeof(line), file) != NULL)
        if (sscanf(line, "MemAvailable: %llu", &kib) == 1)
            break;
    if (file != NULL)
        fclose(file);
    return kib;
}

/** Words that tell where they are. */
static inline void big_fill(uint64_t *words, size_t bytes)
{
    for (size_t i = 0; i < bytes / 8; i++)
        words[i] = i * UINT64_C(0x9e3779b97f4a7c15);
}

static inline bool big_is_filled(const uint64_t *words, size_t bytes)
{
    for (size_t i = 0; i < bytes / 8; i++)
        if (words[i] != i * UINT64_C(0x9e3779b97f4a7c15))
            return false;
    return true;
}
#endif
