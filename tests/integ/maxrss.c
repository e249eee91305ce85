/* maxrss.c - run a command and say how much memory it needed.
 *
 *   maxrss FILE COMMAND...   FILE gets the largest resident set of COMMAND in
 *                            KiB and its processor time in ms, one line
 *
 * Exit status: that of COMMAND. */
#include "config.h"
#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int64_t ms(struct timeval tv)
{
    return (int64_t)tv.tv_sec * 1000 + tv.tv_usec / 1000;
}

int main(int argc, char **argv)
{
    struct rusage usage;
    FILE *file;
    pid_t pid;
    int status;

    if (argc < 3) {
        fprintf(stderr, "usage: maxrss FILE COMMAND...\n");
        return 2;
    }
    pid = fork();
    if (pid == 0) {
        execvp(argv[2], argv + 2);
        perror(argv[2]);
        _exit(127);
    }
    if (pid < 0 || wait4(pid, &status, 0, &usage) != pid) {
        perror("maxrss");
        return 2;
    }
    file = fopen(argv[1], "w");
    if (file == NULL ||
        fprintf(file, "%ld %" PRId64 "\n", usage.ru_maxrss,
                ms(usage.ru_utime) + ms(usage.ru_stime)) < 0 ||
        fclose(file) != 0) {
        perror(argv[1]);
        return 2;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
