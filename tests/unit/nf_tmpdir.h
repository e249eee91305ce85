#ifndef NF_TMPDIR_H
#define NF_TMPDIR_H
/* A directory for the files of one test. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char nf_tmpdir[256];

/* For nf_unit's suite set-up.  @return 0 */
static inline int nf_tmpdir_make(void)
{
    const char *base = getenv("TMPDIR");

    snprintf(nf_tmpdir, sizeof(nf_tmpdir), "%s/nowfarm-test.XXXXXX",
             base == NULL ? "/tmp" : base);
    return mkdtemp(nf_tmpdir) == NULL;
}

static inline int nf_tmpdir_remove(void)
{
    char command[300];

    snprintf(command, sizeof(command), "rm -rf '%s'", nf_tmpdir);
    return system(command) != 0;
}

/* The path of `name` in it, in one of four buffers that take turns. */
static inline const char *nf_tmp(const char *name)
{
    static char paths[4][512];
    static unsigned turn;

    turn = (turn + 1) % 4;
    snprintf(paths[turn], sizeof(paths[turn]), "%s/%s", nf_tmpdir, name);
    return paths[turn];
}

/* Write a file.  @return its path */
static inline const char *nf_tmp_write(const char *name, const char *text)
{
    const char *path = nf_tmp(name);
    FILE *file = fopen(path, "w");

    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0) {
        perror(path);
        abort();
    }
    return path;
}
#endif
