/* How members of a group find each other. */
#include "config.h"
#include "tests/lab/meet.h"
#include <pvm3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "common/base/clock.h"

enum { MEET_US = 20000000 };

/* Under another name first, so that who finds the file finds all of it. */
void lab_tell_tid(const char *folder, uint32_t rank)
{
    char path[512], draft[520];
    FILE *file;

    snprintf(path, sizeof(path), "%s/tid.%u", folder, rank);
    snprintf(draft, sizeof(draft), "%s.new", path);
    file = fopen(draft, "w");
    if (file == NULL)
        exit(99);
    fprintf(file, "%d\n", pvm_mytid());
    fclose(file);
    if (rename(draft, path) != 0)
        exit(99);
}

void lab_find_tids(const char *folder, uint32_t count, int *tids)
{
    int64_t until_us = nf_now_us() + MEET_US;

    for (uint32_t i = 0; i < count; i++) {
        char path[512];
        FILE *file;

        snprintf(path, sizeof(path), "%s/tid.%u", folder, i);
        while ((file = fopen(path, "r")) == NULL) {
            if (nf_now_us() > until_us)
                exit(99);
            usleep(10000);
        }
        if (fscanf(file, "%d", &tids[i]) != 1)
            exit(99);
        fclose(file);
    }
}
