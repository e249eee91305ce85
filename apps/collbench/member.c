/* The life of a spawned member. */
#include "config.h"
#include "apps/collbench/member.h"
#include <stdio.h>
#include <string.h>
#include "apps/collbench/team.h"
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/coll/coll.h"
#include "common/net/pvm.h"

static enum nf_status read_address(const char *address, int *tid_p,
                                   uint64_t *id_p, struct nf_error *err)
{
    unsigned tid;
    unsigned long long id;

    if (sscanf(address, "coll:%x:%llx", &tid, &id) != 2)
        return nf_fail(err, NF_ERR_INVAL, "%s: not an address of coll-bench",
                       address);
    *tid_p = (int)tid;
    *id_p = id;
    return NF_OK;
}

bool bench_is_address(const char *address)
{
    return strncmp(address, "coll:", 5) == 0;
}

bool bench_same_version(const char said[BENCH_VERSION_BYTES])
{
    return strncmp(said, nf_version(), BENCH_VERSION_BYTES) == 0;
}

/* What the command knows: who the others are, and how patient to be. */
struct word {
    uint64_t count, timeout_us;
    int32_t *tids; /* [count] */
};

static enum nf_status hear(struct nf_group *pair, struct word *word)
{
    char version[BENCH_VERSION_BYTES] = "";
    uint64_t words[2];
    enum nf_status status;

    snprintf(version, sizeof(version), "%s", nf_version());
    status = nf_bcast(pair, version, sizeof(version), NF_ELEM_BYTE, 1);
    if (status == NF_OK)
        status = nf_bcast(pair, words, 2, NF_ELEM_UINT64, 0);
    if (status != NF_OK)
        return status;
    if (words[0] < 2 || words[0] > NF_COLL_RANKS_MAX)
        return NF_ERR_PROTOCOL;
    word->count = words[0];
    word->timeout_us = words[1];
    word->tids = nf_calloc(word->count, sizeof(*word->tids));
    if (word->tids == NULL)
        return NF_ERR_NOMEM;
    return nf_bcast(pair, word->tids, (size_t)word->count, NF_ELEM_INT32, 0);
}

static enum nf_status serve_all(const struct word *word, uint64_t id,
                                struct nf_error *err)
{
    struct nf_group *all;
    struct bench_team team;
    enum nf_status status = nf_group_open(word->tids, (uint32_t)word->count, id,
                                          &bench_patient, &all, err);

    if (status != NF_OK)
        return status;
    bench_team_init(&team, all, (int64_t)word->timeout_us, NULL, err);
    status = bench_tell_routes(all, NULL);
    if (status == NF_OK)
        status = bench_serve(&team);
    bench_team_fini(&team);
    nf_group_close(all);
    return status;
}

static enum nf_status live(const char *address, struct nf_error *err)
{
    const struct nf_group_options options = { .timeout_us = BENCH_MEET_US,
                                              .algorithms = "",
                                              .network_file = "" };
    struct word word = { .count = 0 };
    struct nf_group *pair = NULL;
    uint64_t id = 0;
    int tids[2] = { 0, 0 };
    enum nf_status status = read_address(address, &tids[0], &id, err);

    if (status != NF_OK)
        return status;
    if (nf_pvm_enroll(&tids[1]) != NF_OK)
        return nf_fail(err, NF_ERR_UNREACHABLE, "no pvmd answers here");
    status = nf_group_open(tids, 2, id, &options, &pair, err);
    if (status == NF_OK) {
        status = hear(pair, &word);
        if (status != NF_OK)
            nf_fail(err, status, "%s", nf_group_error(pair)->text);
    }
    if (status == NF_OK)
        status = serve_all(&word, id + 1, err);
    nf_group_close(pair);
    nf_free(word.tids);
    return status;
}

int bench_member(const char *address)
{
    struct nf_error err = { NF_OK, "" };
    enum nf_status status = live(address, &err);

    /* that the group was given up is the command's own news */
    if (status == NF_ERR_INVAL || status == NF_ERR_UNREACHABLE ||
        status == NF_ERR_PROTOCOL || status == NF_ERR_NOMEM)
        fprintf(stderr, "nowfarm-slave: %s\n", err.text);
    nf_pvm_leave();
    return nf_exit_status(status);
}
