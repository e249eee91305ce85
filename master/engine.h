#ifndef NF_MASTER_ENGINE_H
#define NF_MASTER_ENGINE_H
/** @file engine.h  The thin shell around the farm: feeds it what the transport
 *  reports, carries out its actions, keeps the accounts.  nf_run() is this. */
#include "common/net/net.h"
#include "common/policy/policy.h"
#include "master/emulate.h"
#include "master/hosts.h"

struct nf_engine_config {
    const struct nf_app *app;
    const struct nf_options *options; /**< defaults filled in */
    const struct nf_policy *policy;
    const struct nf_net_ops *transport;
    const struct nf_hosts *hosts;     /**< NULL: those of the virtual machine */
    const char *slave_program;        /**< absolute path */
    const struct nf_emulate *emulate; /**< NULL: times are real */
};

/** Can results of @p app come home as o->gather says?  NULL: as a stream.
 *  @retval NF_ERR_INVAL */
enum nf_status nf_gather_check(const struct nf_app *app,
                               const struct nf_options *o,
                               struct nf_error *err);

/** Is NOWFARM_COLL, if it is set, a list of algorithms?
 *  @retval NF_ERR_INVAL */
enum nf_status nf_table_check(struct nf_error *err);

/** Run one job to its end; see nf_run(). */
enum nf_status nf_engine_run(const struct nf_engine_config *config,
                             struct nf_report *report_p, struct nf_error *err);
#endif
