/* Fuzzing policies.  A text is either refused with one printable line, or it is
 * a policy that gets a small job done on a farm, whatever the slaves report and
 * in whichever order.
 *
 * An input is the specification, a newline, and the history: N, p, and then
 * what happens, a byte or a few each.
 *
 * With libFuzzer: see tests/fuzz/local.am.  Without: `fuzz_policy FILE...`
 * replays inputs, and `fuzz_policy` alone makes its own from fixed seeds. */
#include "config.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/farm/farm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

enum { SLAVES_MAX = 8, UNITS_MAX = 300, EVENTS_MAX = 20000 };

struct lease {
    uint64_t id, first, count;
    uint32_t slave;
};

/* One job in the making. */
struct job {
    const uint8_t *data; /* what happens next */
    size_t bytes;
    struct nf_farm *farm;
    uint32_t slaves;
    struct lease leases[UNITS_MAX]; /* in the order sent */
    size_t nleases;
    int64_t now_us, wake_us;
    uint64_t accepted;
    bool done;
};

static void must(int condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "fuzz_policy: %s\n", what);
        abort();
    }
}

/* @return the next byte of the input, 0 after its end */
static uint8_t take(struct job *job)
{
    if (job->bytes == 0)
        return 0;
    job->bytes--;
    return *job->data++;
}

/* A duration, also an absurd one: an exponent and a byte. */
static int64_t take_us(struct job *job)
{
    uint8_t exponent = take(job);

    if (exponent == 255)
        return INT64_MIN;
    return (int64_t)((uint64_t)take(job) << exponent % 56);
}

static double take_real(struct job *job)
{
    uint64_t bits = 0;
    double value;

    for (int i = 0; i < 8; i++)
        bits = bits << 8 | take(job);
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static void obey(struct job *job, const struct nf_actions *actions)
{
    for (size_t i = 0; i < actions->count; i++) {
        const struct nf_action *act = &actions->list[i];

        if (act->kind == NF_ACT_DONE)
            job->done = true;
        if (act->kind == NF_ACT_ACCEPT)
            job->accepted += act->count;
        if (act->kind != NF_ACT_SEND)
            continue;
        must(job->nleases < UNITS_MAX, "more leases than units");
        must(act->count >= 1, "a lease of nothing");
        job->leases[job->nleases++] = (struct lease){
            .id = act->lease,
            .first = act->first,
            .count = act->count,
            .slave = act->slave,
        };
    }
    job->wake_us = actions->wake_us;
}

/* Answer the oldest lease of the slave that has lease `index`. */
static void answer(struct job *job, size_t index, bool strange)
{
    struct nf_chunk_times times = { .compute_us = 10, .wait_us = -1 };
    struct nf_actions actions;
    struct lease lease;
    size_t i = 0;

    while (job->leases[i].slave != job->leases[index].slave)
        i++;
    lease = job->leases[i];
    memmove(&job->leases[i], &job->leases[i + 1],
            (--job->nleases - i) * sizeof(lease));
    if (strange) {
        times.compute_us = take_us(job);
        times.wait_us = take_us(job);
        times.idle_us = take_us(job);
        times.mean_unit_us = take_real(job);
        times.m2_unit_us2 = take_real(job);
    }
    must(nf_farm_result(job->farm, lease.slave, lease.id, lease.first,
                        lease.count, &times, job->now_us, &actions) == NF_OK,
         "a right result is refused");
    obey(job, &actions);
}

static void fire_timer(struct job *job)
{
    struct nf_actions actions;

    if (job->wake_us != INT64_MAX && job->wake_us > job->now_us)
        job->now_us = job->wake_us;
    must(nf_farm_timer(job->farm, job->now_us, &actions) == NF_OK, "timer");
    obey(job, &actions);
}

static void join(struct job *job, uint32_t slave)
{
    struct nf_actions actions;

    if (nf_farm_join(job->farm, slave, 1, job->now_us, &actions) == NF_OK)
        obey(job, &actions);
}

static void lose(struct job *job, uint32_t slave)
{
    struct nf_actions actions;
    size_t kept = 0;

    if (nf_farm_lost(job->farm, slave, NF_LOSS_LEFT, job->now_us, &actions) !=
        NF_OK)
        return;
    for (size_t i = 0; i < job->nleases; i++)
        if (job->leases[i].slave != slave)
            job->leases[kept++] = job->leases[i];
    job->nleases = kept;
    obey(job, &actions);
}

static void happen(struct job *job)
{
    uint8_t what = take(job);
    uint32_t slave = what / 8 % SLAVES_MAX;

    job->now_us += what;
    switch (what % 8) {
    case 0:
        join(job, slave);
        break;
    case 1:
        lose(job, slave);
        break;
    case 2:
        fire_timer(job);
        break;
    default:
        if (job->nleases > 0)
            answer(job, what % job->nleases, what % 8 < 5);
    }
}

static void run(struct job *job, const struct nf_policy *policy)
{
    struct nf_farm_config config = {
        .units = (uint64_t)(take(job) + take(job)) % (UNITS_MAX + 1),
        .policy = policy,
        .max_slots = SLAVES_MAX,
        .max_attempts = 100,
        .seed = 1,
    };
    struct nf_farm_stats stats;
    struct nf_error err;

    config.slots = 1 + take(job) % SLAVES_MAX;
    job->wake_us = INT64_MAX;
    if (nf_farm_create(&config, &job->farm, &err) != NF_OK)
        return;
    for (uint32_t i = 0; i < config.slots && !job->done; i++)
        join(job, i);
    while (job->bytes > 0 && !job->done)
        happen(job);
    for (uint32_t i = 0; i < config.slots && !job->done; i++)
        join(job, i);
    for (int i = 0; i < EVENTS_MAX && !job->done; i++) {
        if (job->nleases > 0 && (i % 2 > 0 || job->wake_us == INT64_MAX))
            answer(job, 0, false);
        else
            fire_timer(job);
    }
    nf_farm_get_stats(job->farm, &stats);
    must(job->done && stats.done == config.units, "units are left over");
    must(job->accepted == config.units, "units were accepted twice");
    nf_farm_destroy(job->farm);
}

static void check_line(const struct nf_error *err)
{
    must(err->status == NF_ERR_INVAL && err->text[0] != '\0', "no reason");
    for (const char *c = err->text; *c != '\0'; c++)
        must(*c >= ' ' && *c <= '~', "the reason is no printable line");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static struct nf_policy policy;
    static struct job job;
    char spec[2 * NF_POLICY_SPEC_BYTES];
    const uint8_t *newline = memchr(data, '\n', bytes);
    size_t length = newline != NULL ? (size_t)(newline - data) : bytes;
    struct nf_error err = { .status = NF_OK };

    if (length >= sizeof(spec))
        length = sizeof(spec) - 1;
    memcpy(spec, data, length);
    spec[length] = '\0';
    if (nf_policy_parse(spec, &policy, &err) != NF_OK) {
        check_line(&err);
        return 0;
    }
    memset(&job, 0, sizeof(job));
    if (newline != NULL) {
        job.data = newline + 1;
        job.bytes = bytes - length - 1;
    }
    run(&job, &policy);
    return 0;
}

#ifndef NF_LIBFUZZER
#include "tests/fuzz/fuzz_text.h"

static const char *const texts[] = {
    "send:g=3\n",
    "presend:td=5ms/3us,stagger=1us\n",
    "presend-round:td=1ms\n",
    "gss:kmin=3,rounding=half+window:w=3\n",
    "static\n",
    "cyclic:g=4+auto:wmax=3,gate=0\n",
    "fac:mu=1.5,sigma=3+window\n",
    "fac2:form=halving,kmin=2+timer:td=2us\n",
    "wf:speeds=3/1/2\n",
    "awf:weights=3/1,steps=4\n",
    "awf-b:warm=0\n",
    "awf-c+window:w=2\n",
    "awf-d+auto\n",
    "awf-e\n",
    "af:kmin=2+window\n",
    "rta:g=5,tail=0\n",
    "tss:first=20,last=4,decrement=exact\n",
    "tfss+round:td=7us\n",
    "fiss:stages=3\n",
    "viss:X=4\n",
    "fsc:h=0.1,sigma=0.5\n",
    "mfsc\n",
    "rand:seed=18446744073709551615\n",
};

int main(int argc, char **argv)
{
    return fuzz_text_main(argc, argv, texts, sizeof(texts) / sizeof(texts[0]));
}
#endif
