/* nowfarm prefix: running statistics of a large file, by a scan over a group of
 * slaves. */
#include "config.h"
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "apps/nowfarm/cli.h"
#include "apps/nowfarm/coll_run.h"
#include "apps/nowfarm/coll_signals.h"
#include "apps/nowfarm/commands_coll.h"
#include "apps/output.h"
#include "apps/prefix/verify.h"
#include "apps/prefix/wishes.h"
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/units.h"

enum { SLAVES_MOST = 4096, SLAVES_ALONE = 2, TIMEOUT_US = 60000000 };
enum { TIMEOUT_LEAST_US = 1000000 };

/* As popt leaves them; texts are its own, to be freed. */
struct words {
    char *name, *every, *out, *type, *slaves, *hosts, *transport, *timeout;
    char *table;
    int raw, verify, json;
};

struct prefix {
    struct nf_prefix_job job;
    struct coll_world_config world;
    const char *name; /* of the file, as the user wrote it */
    const char *out;
    const char *table; /* of collective operations */
    bool verify, json;
    struct nf_prefix_input *input;
    struct nf_output *output; /* NULL: no rows are wanted */
    /* what came out */
    struct nf_prefix_totals total;
    uint32_t ranks;
    double elapsed_s;
    char note[128];
};

/* ------------------------------------------------------------------- arguments
 */

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);

    return length >= tail && strcmp(text + length - tail, end) == 0;
}

static enum nf_status set_group(const struct words *words, struct prefix *p,
                                struct nf_error *err)
{
    struct coll_world_config *world = &p->world;
    const char *wishes = getenv("NOWFARM_COLL");
    struct nf_error why;
    uint64_t slaves = 0;

    if (wishes != NULL && nf_group_check_wish(wishes, &why) != NF_OK)
        return nf_fail(err, NF_ERR_INVAL, "NOWFARM_COLL: %.200s", why.text);

    world->members_alone = SLAVES_ALONE;
    world->timeout_us = TIMEOUT_US;
    world->hosts_file = words->hosts;
    if (words->transport != NULL && strcmp(words->transport, "pvm") != 0 &&
        strcmp(words->transport, "local") != 0)
        return nf_fail(err, NF_ERR_INVAL, "--transport %s: want pvm or local",
                       words->transport);
    world->local = words->transport != NULL && words->transport[0] == 'l';
    if (world->local && words->hosts != NULL)
        return nf_fail(err, NF_ERR_INVAL,
                       "--hosts goes with --transport pvm only");
    if (words->slaves != NULL &&
        nf_parse_count(words->slaves, 1, SLAVES_MOST, &slaves) != NF_OK)
        return nf_fail(err, NF_ERR_INVAL,
                       "--slaves %.60s: want a number from 1 to %d",
                       words->slaves, SLAVES_MOST);
    world->members = (uint32_t)slaves;
    if (slaves == 1) /* nobody to send to */
        world->local = true;
    if (words->timeout != NULL &&
        (nf_parse_time_us(words->timeout, &world->timeout_us) != NF_OK ||
         world->timeout_us < TIMEOUT_LEAST_US))
        return nf_fail(err, NF_ERR_INVAL,
                       "--timeout %.60s: want a time with its unit, at least "
                       "1s",
                       words->timeout);
    return NF_OK;
}

static enum nf_status set_job(const struct words *words, struct prefix *p,
                              struct nf_error *err)
{
    struct nf_prefix_job *job = &p->job;
    char path[PATH_MAX];

    job->every = 1;
    if (words->every != NULL &&
        nf_parse_count(words->every, 1, INT64_MAX, &job->every) != NF_OK)
        return nf_fail(err, NF_ERR_INVAL,
                       "--every %.60s: want a number from 1 to %" PRId64,
                       words->every, INT64_MAX);
    if (words->every != NULL && words->out == NULL)
        return nf_fail(
            err, NF_ERR_INVAL,
            "--every: says which rows are written; wants --out FILE");
    if (words->type != NULL && strcmp(words->type, "f64") != 0 &&
        strcmp(words->type, "i64") != 0)
        return nf_fail(err, NF_ERR_INVAL, "--type %.60s: want f64 or i64",
                       words->type);
    if (ends_with(p->name, ".npy") && (words->type != NULL || words->raw))
        return nf_fail(err, NF_ERR_INVAL,
                       "%.200s: a .npy file says itself what it holds (want "
                       "neither --type nor --raw)",
                       p->name);
    if (words->type != NULL && words->type[0] == 'i')
        job->type = NF_PREFIX_I64;
    if (words->raw)
        job->format = NF_PREFIX_RAW;
    if (words->out != NULL)
        job->rows =
            ends_with(words->out, ".npy") ? NF_PREFIX_RECORDS : NF_PREFIX_TSV;
    if (realpath(p->name, path) == NULL)
        return nf_fail(err, NF_ERR_INVAL, "%.300s: %s", p->name,
                       strerror(errno));
    if (strlen(path) >= sizeof(job->path))
        return nf_fail(err, NF_ERR_INVAL, "%.60s...: name too long", p->name);
    strcpy(job->path, path);
    return NF_OK;
}

static enum nf_status read_words(int argc, const char **argv,
                                 struct words *words, struct nf_error *err)
{
    /* clang-format off */
    struct poptOption table[] = {
        { "out", 'o', POPT_ARG_STRING, &words->out, 0, "write a row for each prefix to FILE (.npy: as an array)", "FILE" },
        { "every", '\0', POPT_ARG_STRING, &words->every, 0, "only for every K-th prefix and the last one; default 1", "K" },
        { "type", '\0', POPT_ARG_STRING, &words->type, 0, "numbers are f64 (default) or i64", "TYPE" },
        { "raw", '\0', POPT_ARG_NONE, &words->raw, 0, "the file is binary, little-endian, without a header", NULL },
        { "slaves", 's', POPT_ARG_STRING, &words->slaves, 0, "members of the group, this process being one; default one a host, 2 if there is one", "P" },
        { "hosts", '\0', POPT_ARG_STRING, &words->hosts, 0, "hosts to use, one a line; default those of the virtual machine", "FILE" },
        { "transport", '\0', POPT_ARG_STRING, &words->transport, 0, "pvm (default) or local (threads of this process)", "NAME" },
        { "table", '\0', POPT_ARG_STRING, &words->table, 0, "go by this table of coll-bench --tune", "FILE" },
        { "timeout", '\0', POPT_ARG_STRING, &words->timeout, 0, "silence after which a member counts as lost; default 60s", "TIME" },
        { "verify", '\0', POPT_ARG_NONE, &words->verify, 0, "check all of the result by a serial pass", NULL },
        { "json", '\0', POPT_ARG_NONE, &words->json, 0, "print the totals as one JSON object", NULL },
        POPT_AUTOHELP
        POPT_TABLEEND
    };
    /* clang-format on */
    poptContext context = poptGetContext(NULL, argc, argv, table, 0);
    enum nf_status status = NF_OK;
    const char *name;
    int option;

    if (context == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    poptSetOtherOptionHelp(
        context, "[OPTION...] FILE\n\nRunning count, sum, mean, variance, "
                 "minimum and maximum of the numbers in FILE.");
    option = poptGetNextOpt(context);
    name = poptGetArg(context);
    if (option < -1)
        status =
            nf_fail(err, NF_ERR_INVAL, "%s: %s (see: nowfarm prefix --help)",
                    poptBadOption(context, POPT_BADOPTION_NOALIAS),
                    poptStrerror(option));
    else if (name == NULL)
        status = nf_fail(err, NF_ERR_INVAL,
                         "which file? (see: nowfarm prefix --help)");
    else if (poptPeekArg(context) != NULL)
        status = nf_fail(err, NF_ERR_INVAL, "unexpected argument \"%.100s\"",
                         poptPeekArg(context));
    else if ((words->name = strdup(name)) == NULL) /* popt frees its own */
        status = nf_fail(err, NF_ERR_NOMEM, "out of memory");
    poptFreeContext(context);
    return status;
}

static void words_free(struct words *words)
{
    free(words->name);
    free(words->every);
    free(words->out);
    free(words->type);
    free(words->slaves);
    free(words->hosts);
    free(words->transport);
    free(words->timeout);
    free(words->table);
}

/* ------------------------------------------------------------------------ work
 */

static enum nf_status put_rows(void *user, uint64_t first, const char *rows,
                               size_t bytes, struct nf_error *err)
{
    struct prefix *p = user;
    uint64_t at = nf_prefix_head_bytes(p->job.rows) +
                  first * nf_prefix_row_bytes(p->job.rows);

    return nf_output_write_at(p->output, at, rows, bytes, err);
}

static void tell_unmet(void *user, const char *why)
{
    (void)user;
    fprintf(stderr, "nowfarm: NOWFARM_COLL: %s: going by the table or model\n",
            why);
}

/* Have the group take what NOWFARM_COLL of this process says, if it can. */
static enum nf_status hand_out_wishes(struct coll_world *world)
{
    const char *wishes = getenv("NOWFARM_COLL");
    struct bench_request request = { .kind = BENCH_WISHES };
    char *taken = NULL;
    enum nf_status status;

    if (wishes == NULL)
        return NF_OK;
    status = nf_prefix_take_wishes(wishes, world->members, world->hosts,
                                   tell_unmet, NULL, &taken);
    if (status != NF_OK)
        return nf_fail(world->team.err, status, "out of memory");
    request.bytes = strlen(taken) + 1;
    status = bench_direct(&world->team, &request, taken, NULL);
    nf_free(taken);
    return status;
}

static enum nf_status by_group(struct prefix *p, struct nf_error *err)
{
    struct nf_prefix_sink sink = { .put = put_rows, .user = p };
    struct bench_request team = { .kind = BENCH_TEAM };
    const struct bench_request begin = { .kind = BENCH_PREFIX };
    struct coll_world world;
    struct nf_model model;
    bool in_step;
    enum nf_status status = coll_world_open(&p->world, &world, err);

    if (status != NF_OK)
        return status;
    if (p->table != NULL)
        (void)coll_use_table(p->table, "the built-in model", &world, &model,
                             &status);
    p->ranks = world.members;
    team.ranks = world.members;
    sink.hosts = world.names;
    if (status == NF_OK)
        status = bench_direct(&world.team, &team, NULL, NULL);
    if (status == NF_OK)
        status = hand_out_wishes(&world);
    if (status == NF_OK)
        status = bench_direct(&world.team, &begin, NULL, NULL);
    in_step = status == NF_OK;
    if (in_step) {
        status = nf_prefix_lead(world.team.work, &p->job, p->input, &sink,
                                &p->total, err);
        in_step = nf_group_error(world.team.work)->status == NF_OK;
    } else {
        coll_world_name_guilty(&world, err);
    }
    coll_world_close(&world, in_step);
    return status;
}

static enum nf_status write_head(struct prefix *p, struct nf_error *err)
{
    char head[NF_PREFIX_ROW_BYTES > 128 ? NF_PREFIX_ROW_BYTES : 128];

    nf_prefix_make_head(
        p->job.rows, nf_prefix_row_count(p->total.moments.count, p->job.every),
        head);
    return nf_output_write_at(p->output, 0, head,
                              nf_prefix_head_bytes(p->job.rows), err);
}

static enum nf_status work(struct prefix *p, struct nf_error *err)
{
    int64_t start_us = nf_now_us();
    enum nf_status status;

    if (p->out != NULL) {
        status = nf_output_open(p->out, &p->output, err);
        if (status != NF_OK)
            return nf_fail_prefix(err, "--out");
    }
    status = by_group(p, err);
    p->elapsed_s = (double)(nf_now_us() - start_us) * 1e-6;
    if (status == NF_OK && p->output != NULL)
        status = write_head(p, err);
    if (status == NF_OK && p->verify)
        status = nf_prefix_verify(&p->job, p->input, &p->total, p->output,
                                  p->note, sizeof(p->note), err);
    if (p->output == NULL)
        return status;
    if (status == NF_OK)
        return nf_output_commit(p->output, err);
    nf_output_abort(p->output);
    return status;
}

/* ---------------------------------------------------------------------- report
 */

/* As a JSON number if that is exact, else as text. */
static json_t *json_number(union nf_prefix_number number,
                           enum nf_prefix_type type)
{
    return type == NF_PREFIX_I64 ? json_integer((json_int_t)number.i64)
                                 : json_real(number.f64);
}

static json_t *json_real_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static int tell_json(const struct prefix *p, const struct nf_prefix_figures *f)
{
    enum nf_prefix_type type = p->total.type;
    uint64_t rows = nf_prefix_row_count(f->count, p->job.every);
    json_t *o = json_pack(
        "{s:s, s:s, s:i, s:s, s:f, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o}",
        "file", p->job.path, "type", type == NF_PREFIX_I64 ? "i64" : "f64",
        "slaves", (int)p->ranks, "transport", p->world.local ? "local" : "pvm",
        "elapsed_s", p->elapsed_s, "rows",
        (json_int_t)(p->out != NULL ? rows : 0), "count", (json_int_t)f->count,
        "sum",
        type == NF_PREFIX_I64 ? json_string(f->sum)
                              : json_real_or_null(f->sum_real),
        "mean", json_real_or_null(f->mean), "variance",
        json_real_or_null(f->variance), "min", json_number(f->min, type), "max",
        json_number(f->max, type), "verified",
        p->verify ? json_true() : json_null());

    return nf_print_json_digits(o, 17);
}

static int tell(struct prefix *p)
{
    struct nf_prefix_figures f;
    char text[32];

    nf_prefix_read_off(&p->total, &f);
    if (p->json)
        return tell_json(p, &f);
    printf("%s: %" PRIu64 " numbers (%s), %u slaves (%s), %.2f s\n", p->name,
           f.count, p->total.type == NF_PREFIX_I64 ? "i64" : "f64", p->ranks,
           p->world.local ? "local" : "pvm", p->elapsed_s);
    printf("sum       %s\n", f.sum);
    printf("mean      %.17g\n", f.mean);
    if (f.count > 1)
        printf("variance  %.17g\n", f.variance);
    printf("min       %s\n",
           nf_prefix_print_number(f.min, p->total.type, text));
    printf("max       %s\n",
           nf_prefix_print_number(f.max, p->total.type, text));
    if (p->out != NULL)
        printf("%s: %" PRIu64 " rows\n", p->out,
               nf_prefix_row_count(f.count, p->job.every));
    if (p->verify)
        printf("verified: true, %s\n", p->note);
    return nf_finish_output();
}

static enum nf_status prepare(const struct words *words, struct prefix *p,
                              struct nf_error *err)
{
    enum nf_status status = set_group(words, p, err);

    p->name = words->name;
    p->out = words->out;
    p->table = words->table;
    p->verify = words->verify != 0;
    p->json = words->json != 0;
    if (status == NF_OK)
        status = set_job(words, p, err);
    if (status == NF_OK && p->out != NULL) {
        status = nf_output_check(p->out, err);
        if (status != NF_OK)
            nf_fail_prefix(err, "--out");
    }
    if (status == NF_OK && p->out != NULL &&
        nf_output_is_same(p->out, p->job.path))
        status = nf_fail(err, NF_ERR_INVAL,
                         "--out %.200s: that is the file to be read", p->out);
    if (status == NF_OK)
        status = nf_prefix_input_open(p->job.path, p->job.format, p->job.type,
                                      &p->input, err);
    return status;
}

int nf_cmd_prefix(int argc, const char **argv)
{
    struct words words = { .every = NULL };
    struct prefix p = { .name = NULL };
    struct nf_error err = { NF_OK, "" };
    enum nf_status status = read_words(argc, argv, &words, &err);
    int rc;

    if (status == NF_OK)
        status = prepare(&words, &p, &err);
    if (status == NF_OK) {
        coll_catch_signals();
        signal(SIGXFSZ, SIG_IGN); /* write() says it */
        status = work(&p, &err);
    }
    rc = status == NF_OK ? tell(&p) : nf_failure(&err);
    nf_prefix_input_close(p.input);
    words_free(&words);
    return rc;
}
