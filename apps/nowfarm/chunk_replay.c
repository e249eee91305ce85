#include "config.h"
#include "apps/nowfarm/chunk_replay.h"
#include <inttypes.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/base/units.h"

enum nf_status nf_replay_init(struct nf_replay *replay_p, const char *spec,
                              uint64_t units, uint32_t slaves,
                              struct nf_error *err)
{
    struct nf_policy_env env = {
        .units = units,
        .slots = slaves,
        .max_slots = slaves,
    };
    struct nf_replay replay = { .units = units, .slaves = slaves };
    const struct nf_sizer_ops *sizer;
    enum nf_status status = nf_policy_parse(spec, &replay.policy, err);

    if (status != NF_OK)
        return status;
    sizer = replay.policy.sizer;
    replay.left = units;
    replay.state = nf_calloc(1, sizer->state_size(&env));
    if (replay.state == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    status = sizer->init(replay.state, &env, replay.policy.sizer_values, err);
    if (status != NF_OK) {
        nf_free(replay.state);
        return nf_fail_prefix(err, "policy \"%s\"", spec);
    }
    *replay_p = replay;
    return NF_OK;
}

void nf_replay_fini(struct nf_replay *replay)
{
    nf_free(replay->state);
    nf_free(replay->sizes);
}

static enum nf_status add_size(struct nf_replay *replay, uint64_t units,
                               struct nf_error *err)
{
    if (replay->nsizes == NF_REPLAY_CHUNKS_MAX)
        return nf_fail(err, NF_ERR_INVAL,
                       "more than %d chunks: want larger chunks or fewer units",
                       NF_REPLAY_CHUNKS_MAX);
    if (replay->nsizes == replay->capacity) {
        size_t capacity = replay->capacity == 0 ? 64 : 2 * replay->capacity;
        uint64_t *sizes = nf_realloc(replay->sizes, capacity * sizeof(*sizes));

        if (sizes == NULL)
            return nf_fail(err, NF_ERR_NOMEM, "out of memory");
        replay->sizes = sizes;
        replay->capacity = capacity;
    }
    replay->sizes[replay->nsizes++] = units;
    return NF_OK;
}

/* @return the answer to a request of @p slave; 0: nothing */
static uint64_t ask(struct nf_replay *replay, uint32_t slave)
{
    uint64_t units = 0;

    if (replay->left == 0 ||
        replay->policy.sizer->next(replay->state, slave, replay->left,
                                   &units) != NF_OK)
        return 0;
    return units;
}

/* One block a slave, empty ones too: entry i is slave i's. */
static enum nf_status list_blocks(struct nf_replay *replay,
                                  struct nf_error *err)
{
    enum nf_status status = NF_OK;

    for (uint32_t i = 0; i < replay->slaves && status == NF_OK; i++) {
        uint64_t units = ask(replay, i);

        replay->left -= units;
        status = add_size(replay, units, err);
    }
    return status;
}

enum nf_status nf_replay_in_turn(struct nf_replay *replay, struct nf_error *err)
{
    uint32_t slave = 0, refused = 0;

    if (replay->policy.sizer == &nf_sizer_static)
        return list_blocks(replay, err);
    while (replay->left > 0 && refused < replay->slaves) {
        uint64_t units = ask(replay, slave);
        enum nf_status status;

        slave = (slave + 1) % replay->slaves;
        refused = units > 0 ? 0 : refused + 1;
        if (units == 0)
            continue;
        replay->left -= units;
        status = add_size(replay, units, err);
        if (status != NF_OK)
            return status;
    }
    return NF_OK;
}

/* ---- scripts ---- */

enum { WORDS_MAX = 8 };

struct line {
    const char *words[WORDS_MAX];
    size_t nwords; /* may exceed WORDS_MAX: the rest was not kept */
};

static void split_line(char *text, struct line *line)
{
    char *rest = text;

    text[strcspn(text, "#\r\n")] = '\0';
    line->nwords = 0;
    for (;;) {
        char *word = strtok_r(rest, " \t", &rest);

        if (word == NULL)
            return;
        if (line->nwords < WORDS_MAX)
            line->words[line->nwords] = word;
        line->nwords++;
    }
}

static enum nf_status read_count(const char *word, const char *what,
                                 uint64_t hi, uint64_t *value_p,
                                 struct nf_error *err)
{
    if (nf_parse_count(word, 0, hi, value_p) == NF_OK)
        return NF_OK;
    return nf_fail(err, NF_ERR_INVAL,
                   "%s %.60s: want a count from 0 to %" PRIu64, what, word, hi);
}

static enum nf_status read_real(const char *word, const char *what,
                                double *value_p, struct nf_error *err)
{
    if (nf_parse_real(word, 0, 1e300, value_p) == NF_OK)
        return NF_OK;
    return nf_fail(err, NF_ERR_INVAL, "%s %.60s: want a number >= 0", what,
                   word);
}

/* next SLAVE [SIZE] */
static enum nf_status do_next(struct nf_replay *replay, const struct line *line,
                              struct nf_error *err)
{
    uint64_t slave, units, taken;
    enum nf_status status;

    if (line->nwords < 2 || line->nwords > 3)
        return nf_fail(err, NF_ERR_INVAL, "want: next SLAVE [SIZE]");
    status =
        read_count(line->words[1], "slave", replay->slaves - 1, &slave, err);
    if (status != NF_OK)
        return status;
    units = taken = ask(replay, (uint32_t)slave);
    if (line->nwords == 3)
        status = read_count(line->words[2], "size", replay->left, &taken, err);
    if (status == NF_OK)
        status = add_size(replay, units, err);
    if (status == NF_OK)
        replay->left -= taken;
    return status;
}

/* report SLAVE SIZE T_COMP_US T_ELAPSED_US MEAN_UNIT_US M2_UNIT */
static enum nf_status do_report(struct nf_replay *replay,
                                const struct line *line, struct nf_error *err)
{
    const uint64_t most_us = UINT64_C(1000000000000000);
    struct nf_chunk_times times = { .wait_us = -1 };
    uint64_t slave, compute_us, elapsed_us;
    enum nf_status status;

    if (line->nwords != 7)
        return nf_fail(err, NF_ERR_INVAL,
                       "want: report SLAVE SIZE T_COMP_US T_ELAPSED_US "
                       "MEAN_UNIT_US M2_UNIT");
    status =
        read_count(line->words[1], "slave", replay->slaves - 1, &slave, err);
    if (status == NF_OK)
        status = read_count(line->words[2], "size", replay->units, &times.units,
                            err);
    if (status == NF_OK && times.units == 0)
        status = nf_fail(err, NF_ERR_INVAL, "size 0: want a count >= 1");
    if (status == NF_OK)
        status = read_count(line->words[3], "compute time", most_us,
                            &compute_us, err);
    if (status == NF_OK)
        status = read_count(line->words[4], "elapsed time", most_us,
                            &elapsed_us, err);
    if (status == NF_OK)
        status = read_real(line->words[5], "mean", &times.mean_unit_us, err);
    if (status == NF_OK)
        status = read_real(line->words[6], "M2", &times.m2_unit_us2, err);
    if (status != NF_OK)
        return status;
    times.compute_us = (int64_t)compute_us;
    times.elapsed_us = (int64_t)elapsed_us;
    if (replay->policy.sizer->report != NULL)
        replay->policy.sizer->report(replay->state, (uint32_t)slave, &times);
    return NF_OK;
}

enum nf_status nf_replay_line(struct nf_replay *replay, char *text,
                              struct nf_error *err)
{
    struct line line;

    split_line(text, &line);
    if (line.nwords == 0)
        return NF_OK;
    if (strcmp(line.words[0], "next") == 0)
        return do_next(replay, &line, err);
    if (strcmp(line.words[0], "report") == 0)
        return do_report(replay, &line, err);
    return nf_fail(err, NF_ERR_INVAL, "\"%.60s\": want next or report",
                   line.words[0]);
}
