/* Hosts come up and slaves arrive.  One bad host is named and left out; it
 * never delays the others. */
#include "config.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "master/engine_internal.h"

/* How long a slave bears our silence; with what its watchdog adds, it ends
 * within 10 s of a master that is cut off.  (That of a master that dies is told
 * by PVM at once.) */
static const int64_t MASTER_SILENCE_US = 7 * 1000000LL;
/* ... and longer by this than a call of nf_app.combine() may take. */
static const int64_t OWN_MORE_US = 3 * 1000000LL;
/* While others are awaited, the first units go out when no slave has become ready
 * for this long: enough for those of one start, not worth noticing; ... */
static const int64_t BEGIN_GRACE_US = 300 * 1000LL;
/* ... and this long after the first at the latest: who is ready has waited enough. */
static const int64_t BEGIN_MOST_US = 1000 * 1000LL;

bool nf_members_grow(void **array, uint32_t *capacity, size_t bytes)
{
    uint32_t more = *capacity == 0 ? 16 : *capacity * 2;
    void *block = nf_realloc(*array, more * bytes);

    if (block == NULL)
        return false;
    memset((char *)block + *capacity * bytes, 0, (more - *capacity) * bytes);
    *array = block;
    *capacity = more;
    return true;
}

struct slave *nf_members_find(struct engine *e, uint32_t farm_id,
                              uint32_t *peer_p)
{
    if (farm_id >= e->next_farm_id)
        return NULL;
    *peer_p = e->peer_of[farm_id];
    return &e->slaves[*peer_p];
}

/* A host or slave is of no use: e->last_reason says why.  With others left the
 * job goes on and the user must know; else that line is the job's end. */
void nf_members_tell_trouble(struct engine *e)
{
    if (e->nhosts > 1 || e->ready_slaves > 0)
        nf_engine_notice(e, "%s", e->last_reason);
    else
        nf_log(NF_LOG_INFO, "%s", e->last_reason);
}

/* ------------------------------------------------------------------ hosts */

static struct host *find_host(struct engine *e, const char *name)
{
    for (uint32_t i = 0; i < e->nhosts; i++)
        if (strcmp(e->hosts[i].name, name) == 0)
            return &e->hosts[i];
    return NULL;
}

static struct host *add_host(struct engine *e, const char *name)
{
    struct host *host;

    if (e->nhosts == e->hosts_capacity &&
        !nf_members_grow((void **)&e->hosts, &e->hosts_capacity, sizeof(*host)))
        return NULL;
    host = &e->hosts[e->nhosts++];
    memset(host, 0, sizeof(*host));
    snprintf(host->name, sizeof(host->name), "%s", name);
    return host;
}

void nf_members_spawn_on(struct engine *e, uint32_t host, uint32_t count,
                         int64_t now_us)
{
    if (count == 0)
        return;
    if (e->nspawns == e->spawns_capacity &&
        !nf_members_grow((void **)&e->spawns, &e->spawns_capacity,
                         sizeof(*e->spawns))) {
        nf_engine_end(e, NF_ERR_NOMEM, "out of memory");
        return;
    }
    e->spawns[e->nspawns] =
        (struct spawn){ .host = host, .missing = count, .since_us = now_us };
    e->hosts[host].alive += count;
    if (nf_net_spawn(e->net, e->hosts[host].name, count, e->nspawns++) != NF_OK)
        nf_engine_end(e, NF_ERR_NOMEM, "out of memory");
}

/* What a host that comes up is to run. */
static uint32_t wanted(const struct engine *e, uint32_t index, uint32_t nhosts)
{
    const struct nf_hosts *file = e->config->hosts;
    uint32_t slaves = e->options->slaves;

    if (file != NULL && file->list[index].slaves > 0)
        return file->list[index].slaves;
    if (slaves == 0)
        return 1;
    return index < nhosts ? nf_hosts_share(slaves, nhosts, index) : 0;
}

static void no_longer_awaited(struct engine *e, struct host *host)
{
    if (host->awaited)
        e->hosts_pending--;
    host->awaited = false;
}

void nf_members_host_up(struct engine *e, const char *name, int64_t now_us)
{
    struct host *host = find_host(e, name);

    if (host == NULL) {
        host = add_host(e, name);
        if (host == NULL) {
            nf_engine_end(e, NF_ERR_NOMEM, "out of memory");
            return;
        }
        /* joined the virtual machine later: with --slaves its share is 0 */
        host->want = e->options->slaves == 0 ? 1 : 0;
        host->slots = e->options->slots;
    }
    no_longer_awaited(e, host);
    host->up = true;
    if (!host->given_up && host->alive < host->want)
        nf_members_spawn_on(e, (uint32_t)(host - e->hosts),
                            host->want - host->alive, now_us);
}

void nf_members_host_failed(struct engine *e, const char *name,
                            const char *text)
{
    struct host *host = find_host(e, name);

    snprintf(e->last_reason, sizeof(e->last_reason), "host %s left out: %s",
             name, text);
    nf_members_tell_trouble(e);
    if (host == NULL)
        return;
    no_longer_awaited(e, host);
    host->given_up = true;
    host->up = false;
}

bool nf_members_plan(struct engine *e, const char *name)
{
    struct host *host = add_host(e, name);

    if (host == NULL)
        return false;
    host->awaited = true;
    e->hosts_pending++;
    return true;
}

void nf_members_share(struct engine *e)
{
    const struct nf_hosts *file = e->config->hosts;

    for (uint32_t i = 0; i < e->nhosts; i++) {
        struct host *host = &e->hosts[i];

        host->want = wanted(e, i, e->nhosts);
        host->slots = file != NULL && file->list[i].slots > 0
                          ? file->list[i].slots
                          : e->options->slots;
    }
}

/* Speeds of slaves that there will never be are a mistake. */
void nf_members_check_speeds(struct engine *e)
{
    uint32_t slaves = 0;

    for (uint32_t i = 0; i < e->nhosts; i++)
        slaves += e->hosts[i].want;
    if (e->config->emulate != NULL && e->config->emulate->nspeeds > slaves)
        nf_engine_end(e, NF_ERR_INVAL, "emulate: %u speeds for %u slaves",
                      e->config->emulate->nspeeds, slaves);
}

/* ---------------------------------------------------------------- arrivals */

/* A slave of its host more, or one fewer; each counts once, whatever happens
 * to it and however often. */
void nf_members_count_in(struct engine *e, struct slave *slave)
{
    if (!slave->counted)
        e->hosts[slave->host].alive++;
    slave->counted = true;
}

void nf_members_count_out(struct engine *e, struct slave *slave)
{
    if (slave->counted)
        e->hosts[slave->host].alive--;
    slave->counted = false;
}

/* News of `count` slaves of a spawn.  @return how many of them were awaited */
uint32_t nf_members_spawn_settled(struct engine *e, uint32_t spawn_id,
                                  uint32_t count)
{
    struct spawn *spawn = &e->spawns[spawn_id];

    if (count > spawn->missing)
        count = spawn->missing;
    spawn->missing -= count;
    return count;
}

void nf_members_spawn_failed(struct engine *e, const struct nf_net_event *ev,
                             int64_t now_us)
{
    struct host *host;

    (void)now_us;
    if (ev->spawn_id >= e->nspawns)
        return;
    host = &e->hosts[e->spawns[ev->spawn_id].host];
    host->alive -= nf_members_spawn_settled(e, ev->spawn_id, ev->count);
    host->deaths++;
    snprintf(e->last_reason, sizeof(e->last_reason),
             "host %s: %u slave%s not started: %s", host->name, ev->count,
             ev->count == 1 ? "" : "s", ev->text);
    nf_members_tell_trouble(e);
}

static void refuse(struct engine *e, uint32_t peer, const char *text)
{
    struct nf_msg msg = { .kind = NF_MSG_REFUSE };

    if (nf_put_text(&e->body, text) == NF_OK) {
        msg.body = e->body.data;
        msg.body_bytes = e->body.bytes;
        nf_engine_send(e, peer, &msg);
    }
    e->slaves[peer].state = SLAVE_GONE;
    nf_members_count_out(e, &e->slaves[peer]);
    e->hosts[e->slaves[peer].host].given_up = true;
}

static bool same_version(struct engine *e, uint32_t peer,
                         const struct nf_hello *hello)
{
    char text[NF_ERROR_TEXT_BYTES];

    if (hello->wire_version == NF_WIRE_VERSION &&
        strcmp(hello->version, nf_version()) == 0)
        return true;
    snprintf(text, sizeof(text),
             "host %s: its slave is nowfarm %s, this is %s: install the same "
             "version on every host",
             hello->host, hello->version, nf_version());
    snprintf(e->last_reason, sizeof(e->last_reason), "%s", text);
    if (!e->hosts[e->slaves[peer].host].given_up)
        nf_members_tell_trouble(e);
    refuse(e, peer, text);
    return false;
}

/* We are silent while we combine, as slaves are. */
static int64_t master_silence_us(const struct engine *e)
{
    int64_t own_us = e->options->heartbeat_timeout_us;

    return nf_gather_is_slow(e) && own_us > MASTER_SILENCE_US - OWN_MORE_US
               ? own_us + OWN_MORE_US
               : MASTER_SILENCE_US;
}

static void send_job(struct engine *e, uint32_t peer, int64_t now_us)
{
    const struct host *host = &e->hosts[e->slaves[peer].host];
    int64_t silence_us = e->options->heartbeat_timeout_us;
    struct nf_job_msg job = {
        .slots = host->slots,
        .host_slaves = host->want > 0 ? host->want : 1,
        .heartbeat_us = silence_us / 4,
        .master_silence_us = master_silence_us(e),
        .unit_timeout_us = e->options->unit_timeout_us,
        .has_shared = e->shared != NULL,
        .hold = e->hold,
        .combine = e->combine,
        .units = e->app->units,
        .phases = e->phases,
    };
    struct nf_msg msg = { .kind = NF_MSG_JOB };

    if (e->config->emulate != NULL) {
        job.emulated_unit_us = e->config->emulate->unit_us;
        job.emulated_speed = nf_emulate_speed(e->config->emulate, peer);
    }
    snprintf(job.app, sizeof(job.app), "%s", e->app->name);
    if (nf_put_job(&e->body, &job) != NF_OK) {
        nf_engine_end(e, NF_ERR_NOMEM, "out of memory");
        return;
    }
    msg.body = e->body.data;
    msg.body_bytes = e->body.bytes;
    nf_engine_send(e, peer, &msg);
    if (e->shared != NULL)
        nf_share_to(e, peer, now_us);
}

/* Make room for the peer's record; peers are numbered in order. */
static struct slave *new_slave(struct engine *e, uint32_t peer)
{
    while (peer >= e->slaves_capacity)
        if (!nf_members_grow((void **)&e->slaves, &e->slaves_capacity,
                             sizeof(*e->slaves)))
            return NULL;
    /* peers whose hello did not decode have a number all the same */
    while (e->nslaves <= peer)
        e->slaves[e->nslaves++].state = SLAVE_GONE;
    return &e->slaves[peer];
}

void nf_members_hello(struct engine *e, const struct nf_net_event *ev,
                      int64_t now_us)
{
    struct slave *slave = new_slave(e, ev->peer);
    struct nf_hello hello;
    struct host *host;

    if (slave == NULL) {
        nf_engine_end(e, NF_ERR_NOMEM, "out of memory");
        return;
    }
    memset(slave, 0, sizeof(*slave));
    slave->state = SLAVE_GONE;
    slave->heard_us = slave->spoken_us = now_us;
    if (nf_get_hello(ev->msg.body, ev->msg.body_bytes, &hello) != NF_OK)
        return;
    if (hello.spawn_id >= e->nspawns)
        return;
    slave->host = e->spawns[hello.spawn_id].host;
    slave->spawn_id = hello.spawn_id;
    slave->counted = nf_members_spawn_settled(e, hello.spawn_id, 1) == 1;
    nf_members_count_in(e, slave);
    host = &e->hosts[slave->host];
    snprintf(slave->label, sizeof(slave->label), "slave %u (%s)", ev->peer,
             host->name);
    if (!same_version(e, ev->peer, &hello))
        return;
    slave->state = SLAVE_NEW;
    nf_arrivals_note(&e->said_hello, now_us);
    if (e->began_us == 0)
        e->began_us = now_us;
    nf_log(NF_LOG_INFO, "%s is there, pid %u", slave->label, hello.pid);
    nf_trace_phase(e->trace, now_us,
                   &(struct nf_trace_phase){
                       .slave = ev->peer,
                       .name = "shared",
                       .host = host->name,
                       .bytes = e->shared != NULL ? e->shared->bytes : 0,
                   });
    send_job(e, ev->peer, now_us);
}

void nf_members_join(struct engine *e, uint32_t peer, int64_t now_us)
{
    struct slave *slave = &e->slaves[peer];
    struct nf_actions actions;
    enum nf_status status;

    slave->joined = true;
    slave->state = SLAVE_READY;
    e->live_slaves++;
    e->live_slots += slave->nslots;
    if (e->live_slaves > e->max_slaves)
        e->max_slaves = e->live_slaves;
    if (e->live_slots > e->max_slots)
        e->max_slots = e->live_slots;
    nf_account_reset(slave, now_us);
    nf_farm_heard(e->farm, slave->farm_id, now_us);
    status =
        nf_farm_join(e->farm, slave->farm_id, slave->nslots, now_us, &actions);
    if (status == NF_ERR_RANGE || status == NF_ERR_PROTOCOL) {
        nf_engine_notice(e, "%s: no room for it", slave->label);
        slave->state = SLAVE_GONE;
        nf_members_count_out(e, slave);
        e->live_slaves--;
        e->live_slots -= slave->nslots;
        nf_net_drop(e->net, peer, true);
        return;
    }
    nf_trace_join(e->trace, now_us, peer, e->hosts[slave->host].name,
                  slave->nslots);
    nf_traffic_act(e, &actions, NULL, now_us);
    nf_account_settle(slave);
    if (status != NF_OK)
        nf_engine_end(e, status, "out of memory");
}

/* The farm begins: p is what is ready and what is still expected. */
void nf_members_begin(struct engine *e, int64_t now_us)
{
    uint32_t expected = 0, each;
    struct nf_farm_config config = {
        .units = e->app->units,
        .policy = e->config->policy,
        .max_attempts = e->options->max_attempts,
        .silence_limit_us = e->options->heartbeat_timeout_us,
        .seed = e->options->seed,
        .hold = e->hold || e->phases > 1,
        .phases = e->phases,
    };
    enum nf_status status;

    each = (e->ready_slots + e->ready_slaves - 1) / e->ready_slaves;
    for (uint32_t i = 0; i < e->nhosts; i++)
        if (!e->hosts[i].given_up && e->hosts[i].want > e->hosts[i].alive)
            expected += e->hosts[i].want - e->hosts[i].alive;
    for (uint32_t i = 0; i < e->nspawns; i++)
        expected += e->spawns[i].missing;
    for (uint32_t i = 0; i < e->nslaves; i++)
        expected += e->slaves[i].state == SLAVE_NEW;
    config.slots = e->ready_slots + expected * each;
    config.max_slots = 4 * config.slots + 4096;
    status = nf_farm_create(&config, &e->farm, &e->error);
    if (status != NF_OK) {
        e->status = status;
        event_base_loopbreak(e->base);
        return;
    }
    nf_trace_begin(e->trace, now_us, config.slots);
    if (e->emulated != NULL) {
        e->began_us = now_us; /* the simulator's slaves are there at once */
        e->joining = true;
        nf_emulated_arm(e->emulated, now_us, false);
        return;
    }
    for (uint32_t i = 0; i < e->nslaves && !e->done && e->status == NF_OK;
         i++)
        if (e->slaves[i].state == SLAVE_READY) /* the inputs may take long */
            nf_members_join(e, i, nf_now_us());
}

bool nf_members_join_next(struct engine *e, int64_t now_us)
{
    uint32_t next = 0, left = 0;

    for (uint32_t i = e->nslaves; e->joining && i-- > 0;)
        if (e->slaves[i].state == SLAVE_READY && !e->slaves[i].joined) {
            next = i;
            left++;
        }
    e->joining = left > 1;
    if (left == 0)
        return false;
    nf_emulated_arm(e->emulated, now_us, false); /* should it be turned down */
    nf_members_join(e, next, now_us);
    return true;
}

/* Nobody is awaited any more, or not for much longer. */
bool nf_members_time_to_begin(const struct engine *e, int64_t now_us)
{
    if (e->ready_slaves == 0)
        return false;
    /* an emulated world begins with all of its slaves */
    if (e->emulated == NULL &&
        nf_arrivals_waited(&e->got_ready, BEGIN_GRACE_US, BEGIN_MOST_US,
                           now_us))
        return true;
    for (uint32_t i = 0; i < e->nspawns; i++)
        if (e->spawns[i].missing > 0)
            return false;
    for (uint32_t i = 0; i < e->nslaves; i++)
        if (e->slaves[i].state == SLAVE_NEW)
            return false;
    return e->hosts_pending == 0;
}

void nf_members_ready(struct engine *e, const struct nf_net_event *ev,
                      int64_t now_us)
{
    struct slave *slave = &e->slaves[ev->peer];
    struct nf_ready_msg ready;
    const char *how;

    if (slave->state != SLAVE_NEW ||
        nf_get_ready(ev->msg.body, ev->msg.body_bytes, &ready) != NF_OK ||
        ready.slots == 0 || ready.slots > 65536)
        return;
    slave->slots = nf_calloc(ready.slots, sizeof(*slave->slots));
    if (slave->slots == NULL) {
        nf_engine_end(e, NF_ERR_NOMEM, "out of memory");
        return;
    }
    slave->nslots = ready.slots;
    how = nf_share_done(e, ev->peer, now_us);
    if (e->next_farm_id == e->peer_of_capacity &&
        !nf_members_grow((void **)&e->peer_of, &e->peer_of_capacity,
                         sizeof(*e->peer_of))) {
        nf_engine_end(e, NF_ERR_NOMEM, "out of memory");
        return;
    }
    e->peer_of[e->next_farm_id] = ev->peer;
    slave->farm_id = e->next_farm_id++;
    slave->state = SLAVE_READY;
    nf_trace_phase(e->trace, now_us,
                   &(struct nf_trace_phase){
                       .slave = ev->peer,
                       .name = "shared",
                       .algorithm = how,
                       .ends = true });
    if (e->ready_slaves++ == 0) /* nobody is left of those who were, if any */
        e->got_ready = (struct nf_arrivals){ .any = false };
    nf_arrivals_note(&e->got_ready, now_us);
    e->ready_slots += ready.slots;
    if (e->farm != NULL)
        nf_members_join(e, ev->peer, now_us);
    else if (nf_members_time_to_begin(e, now_us))
        nf_members_begin(e, now_us);
}

void nf_members_refused(struct engine *e, const struct nf_net_event *ev)
{
    struct slave *slave = &e->slaves[ev->peer];
    struct nf_text_msg m;

    if (nf_get_text(ev->msg.body, ev->msg.body_bytes, &m) != NF_OK)
        snprintf(m.text, sizeof(m.text), "it refuses the job");
    snprintf(e->last_reason, sizeof(e->last_reason), "%s refuses the job: %s",
             slave->label, m.text);
    nf_members_tell_trouble(e);
    /* one that holds results refuses for want of memory: a new one, which would
     * be handed the same units, would fare no better */
    if (slave->host < e->nhosts && (!slave->joined || e->hold))
        e->hosts[slave->host].given_up = true;
}

void nf_members_fini(struct engine *e)
{
    for (uint32_t i = 0; i < e->nslaves; i++) {
        nf_members_flush_output(e, &e->slaves[i]);
        for (uint32_t k = 0; k < e->slaves[i].nslots; k++)
            nf_free(e->slaves[i].slots[k].flights);
        nf_free(e->slaves[i].slots);
    }
    nf_free(e->slaves);
    nf_free(e->hosts);
    nf_free(e->spawns);
    nf_free(e->peer_of);
}
