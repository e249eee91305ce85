/* One member of a group over several hosts, of which another one will be lost.
 *
 *   group_member FOLDER RANK MEMBERS OPERATION BYTES TIMEOUT_MS
 *
 * Each writes its tid to FOLDER/tid.RANK.  Then they make calls for ever, until
 * one fails: the survivors make a smaller group and try that.  What there is to
 * say is lines of words on standard output:
 *
 *   calls                           they have begun
 *   failed STATUS MS RANKS TEXT     how; since the epoch; who is lost, and why
 *   shrunk STATUS MS MEMBERS        ... to how many, and how long that took
 *   works                           so does the smaller group
 *
 * The exit status is 0 if it does, or if the others have left this one out. */
#include "config.h"
#include <pvm3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "common/base/clock.h"
#include "nowfarm_group.h"
#include "tests/lab/meet.h"

enum { MEMBERS_MOST = 16 };

struct member {
    uint32_t rank, count;
    bool adds; /* allreduce, else broadcasts by turns */
    size_t elements;
    double *data, *sums;
};

static long long ms_since(int64_t us)
{
    return (nf_now_us() - us) / 1000;
}

static long long epoch_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* @return whether what came of call @p n is right; the members' old ranks do
 * not matter to it */
static bool is_right(const struct member *m, uint32_t n)
{
    const double *got = m->adds ? m->sums : m->data;
    double want = m->adds ? n * (double)m->count : n;

    for (size_t i = 0; i < m->elements; i++)
        if (got[i] < want || got[i] > want)
            return false;
    return true;
}

static enum nf_status one_call(struct member *m, struct nf_group *group,
                               uint32_t n)
{
    uint32_t root = n % m->count;
    enum nf_status status;

    for (size_t i = 0; i < m->elements; i++)
        m->data[i] = m->adds || m->rank == root ? (double)n : -1;
    status = m->adds
                 ? nf_allreduce(group, m->data, m->sums, m->elements,
                                NF_ELEM_FLOAT64, NF_SUM)
                 : nf_bcast(group, m->data, m->elements, NF_ELEM_FLOAT64, root);
    if (status == NF_OK && !is_right(m, n)) {
        printf("call %u has a wrong result\n", n);
        exit(1);
    }
    return status;
}

static void say_failed(const struct nf_group *group, enum nf_status status)
{
    const char *comma = "";

    printf("failed %d %lld ", (int)status, epoch_ms());
    for (uint32_t i = 0; i < nf_group_size(group); i++)
        if (nf_group_is_lost(group, i)) {
            printf("%s%u", comma, i);
            comma = ",";
        }
    printf("%s %s\n", comma[0] == '\0' ? "nobody" : "",
           nf_group_error(group)->text);
    fflush(stdout);
}

static int go_on_without(struct member *m, struct nf_group *group)
{
    struct nf_group *smaller = NULL;
    struct nf_error err = { NF_OK, "" };
    int64_t begun_us = nf_now_us();
    enum nf_status status = nf_group_shrink(group, &smaller, &err);

    printf("shrunk %d %lld %u %s\n", (int)status, ms_since(begun_us),
           status == NF_OK ? nf_group_size(smaller) : 0, err.text);
    fflush(stdout);
    nf_group_close(group);
    if (status != NF_OK)
        return status == NF_ERR_DEAD ? 0 : 1;
    m->rank = nf_group_rank(smaller);
    m->count = nf_group_size(smaller);
    for (uint32_t n = 1; n <= 2 * m->count && status == NF_OK; n++)
        status = one_call(m, smaller, n);
    if (status == NF_OK)
        status = nf_barrier(smaller);
    if (status == NF_OK)
        printf("works\n");
    else
        printf("does not work: %s\n", nf_group_error(smaller)->text);
    nf_group_close(smaller);
    return status != NF_OK;
}

static int live(struct member *m, const int *tids, int64_t timeout_us)
{
    const struct nf_group_options options = { .timeout_us = timeout_us };
    struct nf_group *group;
    struct nf_error err = { NF_OK, "" };
    enum nf_status status =
        nf_group_open(tids, m->count, 1, &options, &group, &err);

    if (status != NF_OK) {
        printf("not opened: %s\n", err.text);
        return 1;
    }
    for (uint32_t n = 1; status == NF_OK; n++) {
        status = one_call(m, group, n);
        if (n == 3) {
            printf("calls\n");
            fflush(stdout);
        }
    }
    say_failed(group, status);
    return go_on_without(m, group);
}

int main(int argc, char **argv)
{
    struct member m = { .rank = 0 };
    int tids[MEMBERS_MOST] = { 0 }, status;

    if (argc != 7)
        return 99;
    m.rank = (uint32_t)strtoul(argv[2], NULL, 10);
    m.count = (uint32_t)strtoul(argv[3], NULL, 10);
    m.adds = strcmp(argv[4], "allreduce") == 0;
    m.elements = strtoul(argv[5], NULL, 10) / sizeof(*m.data);
    m.data = calloc(m.elements, sizeof(*m.data));
    m.sums = calloc(m.elements, sizeof(*m.sums));
    if (m.count > MEMBERS_MOST || m.data == NULL || m.sums == NULL)
        return 99;
    lab_tell_tid(argv[1], m.rank);
    lab_find_tids(argv[1], m.count, tids);
    status = live(&m, tids, strtoll(argv[6], NULL, 10) * 1000);
    pvm_exit();
    free(m.data);
    free(m.sums);
    return status;
}
