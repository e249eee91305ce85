/* The life of one job: open the transport, let the loop run, close, report. */
#include "config.h"
#include "master/engine.h"
#include <event2/event.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "master/engine_internal.h"
#include "slave/slave.h"

enum {
    TICK_US = 50000,     /* how soon a stop is noticed, pings are due, ... */
    BATCH_EVENTS = 128,  /* handled before timers get a turn ... */
    BATCH_US = 1000000,  /* ... and no more after this */
    SETTLE_US = 1000000, /* for slaves that were told to stop */
    LINGER_US = 5000,    /* waiting in the transport while messages come: saves
                            the way through the event loop for each */
};

void nf_engine_end(struct engine *e, enum nf_status status, const char *format,
                   ...)
{
    va_list args;

    if (e->status != NF_OK)
        return;
    e->status = status;
    e->error.status = status;
    va_start(args, format);
    vsnprintf(e->error.text, sizeof(e->error.text), format, args);
    va_end(args);
    if (e->base != NULL)
        event_base_loopbreak(e->base);
}

void nf_engine_notice(struct engine *e, const char *format, ...)
{
    char line[1024];
    va_list args;

    if (e->stopping)
        return;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    if (e->options->notice != NULL)
        e->options->notice(e->options->user, line);
    else
        fprintf(stderr, "nowfarm: %s\n", line);
}

void nf_engine_send(struct engine *e, uint32_t peer, const struct nf_msg *msg)
{
    /* an emulated wire may keep a lease for long */
    if (e->emulated == NULL || msg->kind != NF_MSG_LEASE)
        e->slaves[peer].spoken_us = nf_now_us();
    if (nf_net_send(e->net, peer, msg) != NF_OK)
        nf_engine_end(e, NF_ERR_NOMEM, "out of memory for a message");
}

/* ------------------------------------------------------------------ events */

static void handle_message(struct engine *e, const struct nf_net_event *ev,
                           int64_t now_us)
{
    struct slave *slave;

    if (ev->msg.kind == NF_MSG_HELLO && ev->peer >= e->nslaves) {
        nf_members_hello(e, ev, now_us);
        return;
    }
    if (ev->peer >= e->nslaves)
        return;
    slave = &e->slaves[ev->peer];
    slave->heard_us = now_us;
    if (slave->joined && e->farm != NULL && slave->state == SLAVE_READY)
        nf_farm_heard(e->farm, slave->farm_id, now_us);
    switch (ev->msg.kind) {
    case NF_MSG_READY:
        if (slave->state == SLAVE_SILENT)
            nf_members_back(e, ev->peer, now_us);
        else
            nf_members_ready(e, ev, now_us);
        return;
    case NF_MSG_REFUSE:
        nf_members_refused(e, ev);
        break;
    case NF_MSG_RESULT:
        nf_traffic_result(e, ev, now_us);
        break;
    case NF_MSG_HOLDING:
        nf_gather_holding(e, ev, now_us);
        break;
    case NF_MSG_EXCHANGED:
        nf_exchange_answered(e, ev, now_us);
        break;
    case NF_MSG_GROUP_END:
        nf_gather_group_end(e, ev, now_us);
        break;
    case NF_MSG_UNIT_FAILED:
        nf_traffic_unit_failed(e, ev, now_us);
        break;
    default:
        break;
    }
    if (slave->state == SLAVE_SILENT && !e->done)
        nf_members_heard_again(e, ev->peer);
}

/* Call for the farm's timer. */
static void farm_timer(struct engine *e, int64_t now_us)
{
    struct nf_actions actions;

    if (e->farm == NULL || e->done || e->status != NF_OK)
        return;
    if (nf_farm_timer(e->farm, now_us, &actions) != NF_OK)
        nf_engine_end(e, NF_ERR_NOMEM, "out of memory");
    else
        nf_traffic_act(e, &actions, NULL, now_us);
}

static void handle(struct engine *e, const struct nf_net_event *ev,
                   int64_t now_us)
{
    /* emulated events happened a moment ago */
    if (e->emulated != NULL && ev->at_us > 0)
        now_us = ev->at_us > e->farm_us ? ev->at_us : e->farm_us;
    switch (ev->kind) {
    case NF_NET_MESSAGE:
        handle_message(e, ev, now_us);
        nf_blob_unref(ev->msg.payload);
        break;
    case NF_NET_LEFT:
        if (ev->peer < e->nslaves)
            nf_members_left(e, ev->peer, now_us);
        break;
    case NF_NET_HOST_UP:
        nf_members_host_up(e, ev->host, now_us);
        break;
    case NF_NET_HOST_FAILED:
        nf_members_host_failed(e, ev->host, ev->text);
        break;
    case NF_NET_SPAWN_FAILED:
        nf_members_spawn_failed(e, ev, now_us);
        break;
    case NF_NET_OUTPUT:
        nf_members_output(e, ev->peer, ev->text);
        break;
    case NF_NET_FREE:
        if (!nf_members_join_next(e, now_us))
            farm_timer(e, now_us);
        break;
    }
}

bool nf_engine_stop_asked(struct engine *e)
{
    if (e->options->stop == NULL || *e->options->stop == 0)
        return false;
    nf_engine_end(e, NF_ERR_INTERRUPTED, "interrupted");
    return true;
}

/* A short timer is dear to set, so lingering is for when none is due soon. */
static void set_linger(struct engine *e)
{
    e->net->linger_us =
        e->wake_us - nf_now_us() > 2 * LINGER_US ? LINGER_US : 0;
}

void nf_engine_again(struct engine *e)
{
    /* a timer: an event that is made active here would be called before any
     * timer, and again and again */
    static const struct timeval at_once;

    evtimer_add(e->more, &at_once);
}

/* Take what has arrived.  libpvm may hold whole messages that no socket will
 * announce again, so this goes on until it has none. */
static void take(struct engine *e)
{
    struct nf_net_event ev;
    enum nf_status status = NF_OK;
    int64_t now_us = nf_now_us(), until_us = now_us + BATCH_US;
    int left = BATCH_EVENTS;

    set_linger(e);
    while (status == NF_OK && left-- > 0 && now_us < until_us && !e->done &&
           e->status == NF_OK) {
        status = nf_net_next(e->net, &ev);
        if (status == NF_OK) {
            /* a quick slave's next result is there after each slow call */
            if (e->unread_us > 0 && !nf_net_has_more(e->net))
                nf_members_are_quiet(e, now_us);
            handle(e, &ev, nf_now_us());
        }
        now_us = nf_now_us();
    }
    e->overdue = status == NF_OK && now_us >= until_us;
    if (status == NF_WAIT && !e->net->flooded)
        nf_members_are_quiet(e, now_us);
    if (status == NF_ERR_NOMEM)
        nf_engine_end(e, status, "out of memory for a message");
    else if (status < 0)
        nf_engine_end(e, NF_ERR_UNREACHABLE, "PVM has gone away");
    /* more is there: after the timers */
    if ((status == NF_OK || e->net->flooded) && !e->done)
        nf_engine_again(e);
}

/* It may take long, so it comes when all that is due by the clock has been done
 * with what was heard before. */
static void gather(struct engine *e)
{
    if (!e->done && e->status == NF_OK)
        nf_gather_turn(e);
    nf_engine_watch(e);
}

static void drain(struct engine *e)
{
    take(e);
    gather(e);
}

void nf_engine_on_readable(evutil_socket_t fd, short what, void *arg)
{
    struct engine *e = arg;

    (void)fd;
    (void)what;
    /* each socket may bring what is then handled slowly, and all of them may be
     * readable before the timers have their turn, of which on_more() is one */
    if (!nf_engine_stop_asked(e) && !e->overdue)
        drain(e);
}

static void on_wake(evutil_socket_t fd, short what, void *arg)
{
    struct engine *e = arg;

    (void)fd;
    (void)what;
    take(e); /* answers that are there count before the clock does */
    farm_timer(e, nf_now_us());
    gather(e);
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
    struct engine *e = arg;
    int64_t now_us;

    (void)fd;
    (void)what;
    if (nf_engine_stop_asked(e))
        return;
    take(e);
    now_us = nf_now_us();
    nf_record_tick(e, now_us);
    if (!e->done && e->status == NF_OK)
        nf_members_tick(e, now_us);
    gather(e);
}

/* Not the tick by another name: activating a timer by hand would put it off,
 * and with messages that never cease it would never come. */
static void on_more(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    if (!nf_engine_stop_asked(arg))
        drain(arg);
}

/* -------------------------------------------------------------------- life */

static enum nf_status make_base(struct engine *e, struct nf_error *err)
{
    struct event_config *config = event_config_new();
    struct timeval tick = { .tv_usec = TICK_US };

    /* epoll forgets a socket that libpvm closes and opens again under the same
     * number behind our back; poll is told the set every time */
    if (config != NULL) {
        event_config_avoid_method(config, "epoll");
        event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK |
                                          EVENT_BASE_FLAG_PRECISE_TIMER);
        e->base = event_base_new_with_config(config);
        event_config_free(config);
    }
    if (e->base != NULL) {
        e->tick = event_new(e->base, -1, EV_PERSIST, on_tick, e);
        e->wake = event_new(e->base, -1, 0, on_wake, e);
        e->more = event_new(e->base, -1, 0, on_more, e);
    }
    if (e->tick == NULL || e->wake == NULL || e->more == NULL ||
        event_add(e->tick, &tick) != 0)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory for the event loop");
    return NF_OK;
}

static enum nf_status make_shared(struct engine *e, struct nf_error *err)
{
    const struct nf_app *app = e->app;
    struct nf_buf buf;
    enum nf_status status;

    if (app->share == NULL)
        return NF_OK;
    nf_buf_init(&buf);
    status = app->share(app->user, &buf);
    if (status != NF_OK) {
        nf_buf_fini(&buf);
        return nf_fail(err, NF_ERR_FAILED, "shared data: %s",
                       nf_strerror(status));
    }
    if (buf.bytes % nf_type_bytes(app->shared_type) != 0) {
        nf_buf_fini(&buf);
        return nf_fail(err, NF_ERR_INVAL,
                       "shared data: no whole number of elements");
    }
    e->shared = nf_buf_take(&buf, app->shared_type);
    if (e->shared == NULL) {
        nf_buf_fini(&buf);
        return nf_fail(err, NF_ERR_NOMEM, "out of memory for shared data");
    }
    return NF_OK;
}

/* A slave of the local transport: a thread of this process. */
static void local_slave(struct nf_port *port, void *arg)
{
    const struct nf_app *const apps[] = { arg, NULL };
    struct nf_slave_config config = { .apps = apps, .in_process = true };

    (void)nf_slave_serve(port, &config); /* it says why over the port */
}

/* Put a slower world in front of the transport. */
static enum nf_status emulate(struct engine *e, struct nf_error *err)
{
    enum nf_status status =
        nf_emulated_open(e->config->emulate, e->net, &e->emulated, err);

    if (status == NF_OK)
        e->net = nf_emulated_net(e->emulated);
    else
        nf_net_close(e->net);
    return status;
}

static enum nf_status open_net(struct engine *e, struct nf_error *err)
{
    const struct nf_hosts *file = e->config->hosts;
    const char **lines = NULL;
    struct nf_net_config config = {
        .slave_main = local_slave,
        .slave_arg = (void *)(uintptr_t)e->app,
        .slave_program = e->config->slave_program,
    };
    enum nf_status status;

    if (file != NULL) {
        lines = nf_calloc(file->count + 1, sizeof(*lines));
        if (lines == NULL)
            return nf_fail(err, NF_ERR_NOMEM, "out of memory");
        for (size_t i = 0; i < file->count; i++)
            lines[i] = file->list[i].line;
        config.hosts = lines;
    }
    status = e->config->transport->open(&config, &e->net, err);
    nf_free(lines);
    if (status == NF_OK && e->config->emulate != NULL)
        status = emulate(e, err);
    return status;
}

/* The hosts that are there before anything has happened. */
static bool plan_hosts(struct engine *e)
{
    const struct nf_hosts *file = e->config->hosts;
    struct nf_net_event ev;
    bool ok = true;

    if (file != NULL) {
        for (size_t i = 0; i < file->count && ok; i++)
            ok = nf_members_plan(e, file->list[i].name);
        nf_members_share(e);
        return ok;
    }
    while (ok && nf_net_next(e->net, &ev) == NF_OK)
        if (ev.kind == NF_NET_HOST_UP)
            ok = nf_members_plan(e, ev.host);
    if (ok && e->nhosts == 0)
        ok = nf_members_plan(e, "local");
    nf_members_share(e);
    for (uint32_t i = 0; i < e->nhosts && ok; i++)
        nf_members_host_up(e, e->hosts[i].name, nf_now_us());
    return ok;
}

static void stop_slaves(struct engine *e)
{
    static const struct nf_msg stop = { .kind = NF_MSG_STOP };

    e->stopping = true;
    for (uint32_t i = 0; i < e->nslaves; i++) {
        if (e->slaves[i].state == SLAVE_GONE)
            continue;
        nf_net_drop(e->net, i, false);
        nf_net_send(e->net, i, &stop);
    }
}

/* Slaves that were told to stop end, and what they printed last arrives. */
static void let_settle(struct engine *e)
{
    int64_t until_us = nf_now_us() + SETTLE_US;
    struct pollfd fds[256];
    const int *list;
    struct nf_net_event ev;

    e->net->linger_us = 0;
    while (nf_now_us() < until_us) {
        size_t count;
        enum nf_status status = nf_net_next(e->net, &ev);

        if (status == NF_OK && ev.kind == NF_NET_OUTPUT)
            nf_members_output(e, ev.peer, ev.text);
        if (status == NF_OK && ev.kind == NF_NET_MESSAGE)
            nf_blob_unref(ev.msg.payload);
        if (status == NF_OK)
            continue;
        if (status != NF_WAIT || nf_net_settled(e->net))
            return;
        count = nf_net_fds(e->net, &list);
        for (size_t i = 0; i < count && i < 256; i++)
            fds[i] = (struct pollfd){ .fd = list[i], .events = POLLIN };
        poll(fds, (nfds_t)(count < 256 ? count : 256), 20);
    }
}

static void fill_report(struct engine *e)
{
    struct nf_report *r = &e->report;
    struct nf_farm_stats stats = { 0 };

    if (e->farm != NULL)
        nf_farm_get_stats(e->farm, &stats);
    r->units = e->app->units;
    /* those that are held are not at home */
    r->done_units = (e->phases > 1 ? stats.last_done : stats.done - stats.held) -
                    e->uncollected_units;
    r->failed_units = stats.given_up;
    r->slaves = e->max_slaves;
    r->slots = e->max_slots;
    r->retries = stats.retries;
    r->duplicates = stats.duplicates;
    r->copies = stats.copies;
    r->recomputed = stats.recomputed;
    r->lost_slaves = stats.lost_slaves + e->lost_early;
    if (e->began_us > 0) {
        r->startup_s = (double)(e->began_us - e->opened_us) * 1e-6;
        r->makespan_s = (double)(e->done_us - e->began_us) * 1e-6;
    }
    nf_account_report(e);
}

static void run_loop(struct engine *e)
{
    nf_engine_watch(e);
    drain(e);
    while (!e->done && e->status == NF_OK)
        if (event_base_loop(e->base, EVLOOP_ONCE) < 0)
            nf_engine_end(e, NF_ERR_FAILED, "the event loop failed");
    if (e->done_us == 0)
        e->done_us = nf_now_us();
    if (e->options->progress != NULL)
        nf_members_tell_progress(e, e->done_us);
}

static void free_engine(struct engine *e)
{
    for (size_t i = 0; i < e->nwatches; i++)
        event_free(e->watches[i]);
    nf_free(e->watches);
    nf_free(e->watched);
    nf_free(e->group_fds);
    if (e->tick != NULL)
        event_free(e->tick);
    if (e->wake != NULL)
        event_free(e->wake);
    if (e->more != NULL)
        event_free(e->more);
    if (e->base != NULL)
        event_base_free(e->base);
    nf_farm_destroy(e->farm);
    nf_members_fini(e);
    nf_blob_unref(e->shared);
    nf_buf_fini(&e->input);
    nf_body_fini(&e->body);
    nf_table_close(e);
    nf_network_close(e);
    nf_free(e->sizes);
}

static enum nf_status finish(struct engine *e, struct nf_report *report_p,
                             struct nf_error *err)
{
    const struct nf_unit_failure *first = &e->report.failures[0];
    uint64_t failed;
    char name[UNIT_NAME_BYTES];

    fill_report(e);
    failed = e->report.failed_units;
    if (report_p != NULL && (e->status == NF_OK || e->status == NF_ERR_FAILED ||
                             e->status == NF_ERR_INTERRUPTED))
        *report_p = e->report;
    if (e->status != NF_OK)
        return nf_fail(err, e->status, "%s", e->error.text);
    if (failed > 0)
        return nf_fail(
            err, NF_ERR_FAILED,
            "%" PRIu64 " of %" PRIu64 " units given up; first: %s after %u "
            "attempts: %s",
            failed, e->app->units,
            nf_traffic_name_unit(e, first->phase, first->unit, name),
            first->attempts, first->reason);
    return NF_OK;
}

enum nf_status nf_engine_run(const struct nf_engine_config *config,
                             struct nf_report *report_p, struct nf_error *err)
{
    struct engine e = { .config = config,
                        .app = config->app,
                        .options = config->options };
    enum nf_status status;

    nf_buf_init(&e.input);
    nf_body_init(&e.body);
    if (config->options->gather != NULL)
        snprintf(e.report.gather, sizeof(e.report.gather), "%s",
                 config->options->gather);
    e.combine = strcmp(e.report.gather, "reduce") == 0;
    e.phases = e.report.phases = config->app->phases > 1 ? config->app->phases : 1;
    e.hold = e.combine || strcmp(e.report.gather, "tree") == 0;
    snprintf(e.report.policy, sizeof(e.report.policy), "%s",
             config->policy->spec);
    snprintf(e.report.emulate, sizeof(e.report.emulate), "%s",
             config->emulate != NULL ? config->options->emulate : "");
    snprintf(e.report.transport, sizeof(e.report.transport), "%s",
             config->transport->name);
    e.opened_us = nf_now_us();
    status = nf_record_open(&e, err);
    if (status != NF_OK)
        return status;
    if (e.app->units == 0 || nf_engine_stop_asked(&e)) {
        status = finish(&e, report_p, err);
        nf_record_close(&e, status);
        return status;
    }
    nf_table_open(&e);
    status = make_base(&e, err);
    if (status == NF_OK)
        status = make_shared(&e, err);
    if (status == NF_OK)
        status = open_net(&e, err);
    if (status != NF_OK) {
        nf_record_close(&e, status);
        free_engine(&e);
        return status;
    }
    if (!plan_hosts(&e))
        nf_engine_end(&e, NF_ERR_NOMEM, "out of memory");
    nf_members_check_speeds(&e);
    run_loop(&e);
    nf_members_name_missing(&e);
    nf_gather_fini(&e);
    stop_slaves(&e);
    let_settle(&e);
    nf_net_close(e.net);
    status = finish(&e, report_p, err);
    nf_record_close(&e, status);
    free_engine(&e);
    return status;
}
