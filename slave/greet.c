/* How a slave and its master get to know each other: hello, the job, the shared
 * data, ready. */
#include "config.h"
#include "slave/internal.h"
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Processors that this process may use. */
static uint32_t count_cores(void)
{
    cpu_set_t set;
    long cores = sched_getaffinity(0, sizeof(set), &set) == 0
                     ? CPU_COUNT(&set)
                     : sysconf(_SC_NPROCESSORS_ONLN);

    return cores < 1 ? 1 : (uint32_t)cores;
}

enum nf_status nf_greet_hello(struct nf_slave *s)
{
    struct nf_hello m = {
        .wire_version = NF_WIRE_VERSION,
        .spawn_id = s->port->spawn_id,
        .pid = (uint32_t)getpid(),
        .cores = count_cores(),
    };

    snprintf(m.version, sizeof(m.version), "%s",
             s->config->version != NULL ? s->config->version : nf_version());
    if (gethostname(m.host, sizeof(m.host) - 1) != 0)
        snprintf(m.host, sizeof(m.host), "unknown");
    if (nf_put_hello(&s->comm.body, &m) != NF_OK)
        return NF_ERR_NOMEM;
    return nf_comm_send(s, NF_MSG_HELLO, &s->comm.body, NULL);
}

enum nf_status nf_greet_ready(struct nf_slave *s)
{
    struct nf_ready_msg ready = { .slots = s->nslots };

    if (nf_put_ready(&s->comm.body, &ready) != NF_OK)
        return nf_comm_refuse_nomem(s);
    return nf_comm_send(s, NF_MSG_READY, &s->comm.body, NULL);
}

/* The job is known and its data there: start the slots. */
static enum nf_status get_ready(struct nf_slave *s)
{
    char text[96];

    if (nf_slots_create(s) != NF_OK)
        return nf_comm_refuse_nomem(s);
    for (uint32_t i = 0; i < s->nslots; i++) {
        if (nf_worker_start(&s->slots[i].own) == NF_OK)
            continue;
        snprintf(text, sizeof(text), "only %u of %u threads could be started",
                 i, s->nslots);
        return nf_comm_refuse(s, NF_ERR_NOMEM, text);
    }
    s->comm.ready = true;
    return nf_greet_ready(s);
}

static enum nf_status refuse_app(struct nf_slave *s)
{
    char text[NF_ERROR_TEXT_BYTES];
    size_t used;

    snprintf(text, sizeof(text),
             "no application '%s' here; there is:", s->job.app);
    for (size_t i = 0; s->config->apps[i] != NULL; i++) {
        used = strlen(text);
        snprintf(text + used, sizeof(text) - used, " %s",
                 s->config->apps[i]->name);
    }
    return nf_comm_refuse(s, NF_ERR_INVAL, text);
}

enum nf_status nf_greet_job(struct nf_slave *s, const struct nf_msg *msg)
{
    uint32_t neighbours;
    size_t i = 0;

    if (s->comm.job_known ||
        nf_get_job(msg->body, msg->body_bytes, &s->job) != NF_OK)
        return nf_comm_refuse_malformed(s, "job");
    s->comm.job_known = true;
    while (s->config->apps[i] != NULL &&
           strcmp(s->config->apps[i]->name, s->job.app) != 0)
        i++;
    if (s->config->apps[i] == NULL)
        return refuse_app(s);
    s->app = *s->config->apps[i];
    s->kernel.app = &s->app;
    s->kernel.emulated_unit_us = s->job.emulated_unit_us;
    s->kernel.emulated_speed = s->job.emulated_speed;
    s->kernel.phases = s->job.phases;
    s->kernel.units = s->job.units;
    s->kernel.ending = &s->ending;
    if (s->job.phases > 1 && nf_stock_init(&s->groups.stock, s->job.phases,
                                           s->job.units) != NF_OK)
        return nf_comm_refuse_nomem(s);
    neighbours = s->job.host_slaves == 0 ? 1 : s->job.host_slaves;
    s->nslots = s->job.slots != 0 ? s->job.slots : count_cores() / neighbours;
    if (s->nslots == 0)
        s->nslots = 1;
    if (s->nslots > NF_SLOTS_MAX)
        return nf_comm_refuse(s, NF_ERR_INVAL, "more than 1024 slots");
    if (s->job.master_silence_us > 0)
        atomic_store(&s->silence_limit_us, s->job.master_silence_us);
    s->comm.shared_due = s->job.has_shared;
    return s->comm.shared_due ? NF_OK : get_ready(s);
}

enum nf_status nf_greet_shared(struct nf_slave *s, const struct nf_msg *msg)
{
    if (!s->comm.shared_due) {
        nf_blob_unref(msg->payload);
        return nf_comm_refuse_malformed(s, "shared data");
    }
    s->comm.shared_due = false;
    s->shared = msg->payload;
    s->kernel.shared = s->shared;
    return get_ready(s);
}
