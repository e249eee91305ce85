/* nowfarm coll-bench: collective operations, measured between slaves. */
#include "config.h"
#include <stdio.h>
#include <string.h>
#include "apps/nowfarm/cli.h"
#include "apps/nowfarm/coll_signals.h"
#include "apps/nowfarm/coll_run.h"
#include "apps/nowfarm/commands_coll.h"
#include "apps/nowfarm/plot.h"
#include "apps/output.h"
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/group/measured.h"
#include "common/model/network_file.h"

static uint32_t most_members(const struct coll_options *o)
{
    uint32_t most = 0;

    for (unsigned i = 0; i < o->nslaves; i++)
        most = o->slaves[i] > most ? o->slaves[i] : most;
    return most;
}

/* Is it a model?  Told before anybody is started. */
static enum nf_status check_network(const char *path, struct nf_error *err)
{
    struct nf_network network;
    struct nf_error why;
    size_t bytes = 0;
    char *text = nf_group_read_text(path, &bytes, &why);
    enum nf_status status =
        text == NULL ? why.status
                     : nf_network_parse(text, bytes, path, &network, &why);

    nf_free(text);
    if (status == NF_OK) {
        status = nf_network_check_date(&network, nf_date_now_s(), path, &why);
        nf_network_fini(&network);
    } else if (status != NF_ERR_NOMEM) {
        status = NF_ERR_INVAL;
    }
    return status == NF_OK ? NF_OK
                           : nf_fail(err, status, "--network %s", why.text);
}

/* Files that could not be written are better known before. */
static enum nf_status check_files(const struct coll_options *o,
                                  struct nf_error *err)
{
    enum nf_status status = NF_OK;

    if (o->csv != NULL)
        status = nf_output_check(o->csv, err);
    if (status == NF_OK && o->tune)
        status = coll_tune_check(o->out, err);
    if (status == NF_OK && o->plot != NULL)
        status = plot_check(o->plot, err);
    if (status == NF_OK && o->network != NULL)
        status = check_network(o->network, err);
    return status;
}

static enum nf_status measure(const struct coll_options *o,
                              struct coll_results *results,
                              struct nf_error *err)
{
    const struct coll_world_config config = {
        .local = o->transport != NULL && strcmp(o->transport, "local") == 0,
        .members = most_members(o),
        .members_most = o->network != NULL ? NF_MEASURED_RANKS_MAX : 0,
        .members_most_why = " with --network",
        .hosts_file = o->hosts_file,
        .timeout_us = o->timeout_us,
        .route = o->route,
        .group_server = o->beside,
        .stop = &coll_stop_asked,
    };
    struct coll_world world;
    enum nf_status status;

    coll_measuring = 1;
    status = coll_world_open(&config, &world, err);
    if (status == NF_OK) {
        results->transport = config.local ? "local" : "pvm";
        results->pause_us = o->pause_us;
        results->has_routes = !config.local;
        status = o->tune ? coll_tune_all(o, &world, results)
                         : coll_measure_all(o, &world, results);
        if (status != NF_OK)
            coll_world_name_guilty(&world, err);
        /* after a wrong result or a bad option all are still in step */
        coll_world_close(&world, status == NF_OK || status == NF_ERR_VERIFY ||
                                     status == NF_ERR_INVAL);
    }
    coll_measuring = 0;
    return status;
}

static enum nf_status tell(const struct coll_options *o,
                           const struct coll_results *results,
                           struct nf_error *err)
{
    enum nf_status status = NF_OK;
    int rc = NF_EXIT_OK;

    if (o->csv != NULL)
        status = coll_report_csv(results, o->csv, err);
    if (status == NF_OK && o->plot != NULL)
        status = coll_report_plot(results, o->plot, err);
    if (status != NF_OK)
        return status;
    if (o->json) {
        rc = nf_print_json(coll_report_json(results));
    } else {
        coll_report_print(results, stdout);
        rc = nf_finish_output();
    }
    /* the line has been printed */
    return rc == NF_EXIT_OK ? NF_OK : nf_fail(err, NF_ERR_IO, "%s", "");
}

int nf_cmd_coll_bench(int argc, const char **argv)
{
    struct coll_options options;
    struct coll_results results = { .count = 0 };
    struct nf_error err = { NF_OK, "" };
    enum nf_status status = coll_options_parse(argc, argv, &options, &err);

    if (status == NF_OK)
        status = check_files(&options, &err);
    if (status == NF_OK && options.model == NULL) {
        coll_catch_signals();
        status = measure(&options, &results, &err);
    } else if (status == NF_OK) {
        status = coll_predict_all(&options, &results, &err);
    }
    if (status == NF_OK)
        status = tell(&options, &results, &err);
    coll_results_fini(&results);
    coll_options_fini();
    if (status == NF_OK)
        return NF_EXIT_OK;
    return err.text[0] != '\0' ? nf_failure(&err) : NF_EXIT_FAILED;
}
