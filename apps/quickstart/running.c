/* running [N]: a group program of your own.  P processes hold a part of a
 * sequence each; a scan tells each the sum of all that is before its part.
 *
 *     cc running.c -o running $(pkg-config --cflags --libs nowfarm) -lpvm3
 *
 * It is an ordinary PVM program: the one that you start spawns the others, and
 * all of them open a group.  Nothing of nowfarm runs but its library. */
#define _XOPEN_SOURCE 700 /* realpath(), also with -std=c11 */
#include <inttypes.h>
#include <nowfarm_group.h>
#include <pvm3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PART = 1000, TAG = 1, RANKS_MOST = 64 };

static char member[] = "--member"; /* the argument of those that are spawned */
static char *child[] = { member, NULL };

/* Who are the members?  The first spawns the others and tells them.
 * @param is_child  spawned by the first; the console spawns tasks too */
static int find_members(const char *program, int is_child, int ranks, int *tids)
{
    int mine = pvm_mytid(), parent = pvm_parent(), spawned;

    if (mine < 0 || (is_child && parent < 0))
        return 0;
    if (!is_child) {
        tids[0] = mine;
        spawned = pvm_spawn((char *)program, child, PvmTaskDefault, NULL,
                            ranks - 1, tids + 1);
        if (spawned != ranks - 1) { /* they would wait for ever */
            for (int i = 1; i <= spawned; i++)
                pvm_kill(tids[i]);
            return 0;
        }
        pvm_initsend(PvmDataDefault);
        pvm_pkint(&ranks, 1, 1);
        pvm_pkint(tids, ranks, 1);
        pvm_mcast(tids + 1, ranks - 1, TAG);
    } else {
        pvm_recv(parent, TAG);
        pvm_upkint(&ranks, 1, 1);
        pvm_upkint(tids, ranks, 1);
    }
    return ranks;
}

/* The squares of the numbers of rank r: r * PART + 1 .. (r + 1) * PART */
static enum nf_status work(struct nf_group *group)
{
    uint32_t rank = nf_group_rank(group), ranks = nf_group_size(group);
    int64_t first = (int64_t)rank * PART, n = (int64_t)ranks * PART;
    int64_t sum = 0, before = 0, after;
    enum nf_status status;

    for (int64_t i = first + 1; i <= first + PART; i++)
        sum += i * i;
    status = nf_exscan(group, &sum, &before, 1, NF_ELEM_INT64, NF_SUM);
    if (status != NF_OK)
        return status;
    if (before != first * (first + 1) * (2 * first + 1) / 6)
        return NF_ERR_VERIFY;
    after = before + sum; /* of the last rank: all of it */
    status = nf_bcast(group, &after, 1, NF_ELEM_INT64, ranks - 1);
    if (status == NF_OK && rank == 0)
        printf("sum of the first %" PRId64 " squares: %" PRId64 "\n", n, after);
    return status;
}

int main(int argc, char **argv)
{
    int is_child = argc > 1 && strcmp(argv[1], member) == 0;
    int ranks = argc > 1 && !is_child ? atoi(argv[1]) : 4, tids[RANKS_MOST];
    char program[4096];
    struct nf_group *group;
    struct nf_error err;
    enum nf_status status;

    if (ranks < 2 || ranks > RANKS_MOST || realpath(argv[0], program) == NULL)
        return fprintf(stderr, "usage: ./running [2 to %d]\n", RANKS_MOST), 2;
    ranks = find_members(program, is_child, ranks, tids);
    if (ranks == 0)
        return fputs("running: no PVM, or it can't spawn\n", stderr), 3;
    status = nf_group_open(tids, (uint32_t)ranks, 0, NULL, &group, &err);
    if (status == NF_OK) {
        status = work(group);
        err = *nf_group_error(group);
        nf_group_close(group);
    }
    if (status != NF_OK)
        fprintf(stderr, "running: %s: %s\n", nf_strerror(status), err.text);
    pvm_exit();
    return nf_exit_status(status);
}
