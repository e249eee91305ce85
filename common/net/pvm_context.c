/* Contexts of libpvm.  See pvm_context.h. */
#include "config.h"
#include "common/net/pvm_context.h"
#include <pvm3.h>
#include <string.h>
#include <sys/time.h>
#include "common/base/endian.h"
#include "common/net/pipe_signal.h"

/* Big enough for a whole frame, so that PVM does not cut it again. */
enum { FRAGMENT_BYTES = 64 * 1024 };

/* Of libpvm: < 0 as long as the process is not enrolled. */
extern int pvmmytid;

/* pvm_exit() deletes the handlers of all places, and complains of each that
 * was deleted before.  So a place that we give up gets another handler until we
 * need it again: one that throws away what comes late in its context, or, where
 * that may be watched again, one of what nobody sends.  The oldest is needed
 * first, and some are left for what is on the way. */
enum { PARKED_MOST = 64, LATE_MOST = 8 };
enum { PARKED_CONTEXT = 0x24e47, PARKED_TAG = 0x24e47 };
static struct {
    int place, context;
} parked[PARKED_MOST];
static int nparked, parked_by;

static nf_pvm_handler *handler_of_all;
static unsigned long handled;

void nf_pvm_enter(int context, bool ask, struct nf_pvm_guard *guard_p)
{
    nf_pipe_signal_block(); /* in this thread, which need not have enrolled */
    guard_p->complain = pvm_setopt(PvmAutoErr, 0);
    guard_p->context = pvm_setcontext(context);
    guard_p->route =
        pvm_setopt(PvmRoute, ask ? PvmRouteDirect : PvmAllowDirect);
    guard_p->fragment = pvm_setopt(PvmFragSize, FRAGMENT_BYTES);
    /* pvm_initsend and a receive free the buffer that is active */
    guard_p->send_buffer = pvm_setsbuf(0);
    guard_p->receive_buffer = pvm_setrbuf(0);
}

void nf_pvm_return(const struct nf_pvm_guard *guard)
{
    int send_buffer = pvm_setsbuf(guard->send_buffer);
    int receive_buffer = pvm_setrbuf(guard->receive_buffer);

    if (send_buffer > 0)
        pvm_freebuf(send_buffer);
    if (receive_buffer > 0)
        pvm_freebuf(receive_buffer);
    pvm_setopt(PvmFragSize, guard->fragment);
    pvm_setopt(PvmRoute, guard->route);
    pvm_setcontext(guard->context);
    pvm_setopt(PvmAutoErr, guard->complain);
}

enum nf_status nf_pvm_enroll_quietly(int *tid_p)
{
    int complain = pvm_getopt(PvmAutoErr), fragment = pvm_getopt(PvmFragSize);
    enum nf_status status = nf_pvm_enroll(tid_p);

    if (complain >= 0)
        pvm_setopt(PvmAutoErr, complain);
    if (status == NF_OK && fragment > 0)
        pvm_setopt(PvmFragSize, fragment);
    return status;
}

int nf_pvm_self(void)
{
    return pvmmytid;
}

int nf_pvm_context_create(void)
{
    return pvm_newcontext();
}

void nf_pvm_context_free(int context)
{
    pvm_freecontext(context);
}

/* ------------------------------------------------------------- receiving */

static void handle(int context, int buffer)
{
    struct nf_pvm_message message;

    handled++;
    nf_pvm_classify(buffer, &message);
    handler_of_all(context, &message);
}

/* libpvm has made the context and the buffer those of the message. */
static int on_message(int buffer)
{
    handle(pvm_getcontext(), buffer);
    return 0;
}

/* It counts as read on its route all the same. */
static int on_late(int buffer)
{
    struct nf_pvm_message message;

    nf_pvm_classify(buffer, &message);
    return 0;
}

/* Fill the place that was given up last: libpvm takes it first. */
static void park(int place, int context)
{
    int tag = NF_PVM_TAG_FRAME;

    if (parked_by != pvmmytid)
        nparked = 0; /* those ended with a former life as a task */
    parked_by = pvmmytid;
    if (nparked == PARKED_MOST)
        return;
    if (context < 0) {
        context = PARKED_CONTEXT;
        tag = PARKED_TAG + place; /* no two handlers may be of the same */
    }
    place = pvm_addmhf(-1, tag, context, on_late);
    if (place < 0)
        return;
    parked[nparked].place = place;
    parked[nparked++].context = context;
}

/* Make a place for @p context, which must not have another handler. */
static void unpark(int context)
{
    int i = 0;

    if (parked_by != pvmmytid)
        return;
    while (i < nparked && parked[i].context != context)
        i++;
    if (i == nparked && nparked <= LATE_MOST)
        return;
    if (i == nparked)
        i = 0;
    pvm_delmhf(parked[i].place);
    nparked--;
    memmove(&parked[i], &parked[i + 1],
            (size_t)(nparked - i) * sizeof(*parked));
}

enum nf_status nf_pvm_watch(int context, nf_pvm_handler *handler, int *watch_p)
{
    struct nf_pvm_guard guard;
    struct timeval no_time = { 0, 0 };
    int watch, buffer;

    handler_of_all = handler;
    nf_pvm_enter(context, false, &guard);
    /* All that is there before anything is handled on arrival: a receive reads
     * sockets even if it has a message, which must not be overtaken. */
    while ((buffer = pvm_trecv(-1, -1, &no_time)) > 0)
        handle(context, buffer);
    unpark(context);
    watch = pvm_addmhf(-1, -1, context, on_message);
    nf_pvm_return(&guard);
    if (watch < 0)
        return watch == PvmExists ? NF_ERR_INVAL : NF_ERR_NOMEM;
    *watch_p = watch;
    return NF_OK;
}

void nf_pvm_unwatch(int watch, int context)
{
    int complain = pvm_setopt(PvmAutoErr, 0);

    pvm_delmhf(watch);
    park(watch, context);
    pvm_setopt(PvmAutoErr, complain);
}

enum nf_status nf_pvm_pump(void)
{
    unsigned long before = handled;

    /* with nothing to find it reads until there is no more; pvm_trecv would
     * look at the sockets once more than it needs each time */
    if (pvm_nrecv(-1, -1) < 0)
        return NF_ERR_UNREACHABLE;
    return handled != before ? NF_OK : NF_WAIT;
}

bool nf_pvm_holds_more(void)
{
    bool holds = false;

    if (nf_pvm_somebody_receives()) {
        int context = pvm_setcontext(PvmBaseContext);

        holds = pvm_probe(-1, -1) > 0;
        pvm_setcontext(context);
    }
    return holds;
}

static void notify(int what, int tag, const int *tids, size_t count, bool back)
{
    if (count > 0) /* libpvm's prototypes lack const; it only reads */
        pvm_notify(what | (back ? PvmNotifyCancel : 0), tag, (int)count,
                   (int *)(uintptr_t)tids);
}

void nf_pvm_notify_tasks(const int *tids, size_t count, bool back)
{
    notify(PvmTaskExit, NF_PVM_TAG_EXIT, tids, count, back);
}

void nf_pvm_notify_hosts_lost(const int *tids, size_t count, bool back)
{
    for (size_t i = 0; i < count; i++)
        notify(PvmHostDelete, NF_PVM_TAG_HOST_LOST, &tids[i], 1, back);
}

void nf_pvm_notify_ends(const int *tids, size_t count, bool back)
{
    notify(PvmTaskExit, NF_PVM_TAG_EXIT, tids, count, back);
}

bool nf_pvm_hear_end(int *tid_p)
{
    int buffer = pvm_nrecv(-1, NF_PVM_TAG_EXIT);
    struct nf_pvm_message message;

    *tid_p = 0;
    if (buffer <= 0)
        return false;
    nf_pvm_classify(buffer, &message);
    if (message.kind == NF_PVM_EXIT)
        *tid_p = message.tid;
    return true;
}

void nf_pvm_notify_route_end(int tid)
{
    struct nf_pvm_guard guard;

    nf_pvm_enter(NF_PVM_ROUTES_CONTEXT, false, &guard);
    pvm_notify(PvmRouteDelete, NF_PVM_TAG_ROUTE_ENDED, 1, &tid);
    nf_pvm_return(&guard);
}

bool nf_pvm_notify_routes(void)
{
    struct nf_pvm_guard guard;
    int *fds;

    nf_pvm_enter(NF_PVM_ROUTES_CONTEXT, false, &guard);
    pvm_notify(PvmRouteAdd, NF_PVM_TAG_ROUTE_OPENED, -1, NULL);
    nf_pvm_return(&guard);
    return pvm_getfds(&fds) > 1; /* one is that to the pvmd */
}

void nf_pvm_await_pvmd(void)
{
    struct pvmhostinfo *info;
    int count, narch;

    pvm_config(&count, &narch, &info);
}

/* --------------------------------------------------------------- meeting */

enum { WORDS_BYTES = NF_PVM_WORDS * 8 };

enum nf_status nf_pvm_say(int tid, int tag, const uint64_t words[NF_PVM_WORDS])
{
    uint8_t bytes[WORDS_BYTES];

    for (int i = 0; i < NF_PVM_WORDS; i++)
        nf_store_le64(bytes + 8 * i, words[i]);
    if (pvm_initsend(PvmDataRaw) < 0 ||
        pvm_pkbyte((char *)bytes, WORDS_BYTES, 1) < 0 || pvm_send(tid, tag) < 0)
        return NF_ERR_UNREACHABLE;
    return NF_OK;
}

enum nf_status nf_pvm_hear(int tag, int64_t timeout_us, int *tid_p,
                           uint64_t words_p[NF_PVM_WORDS])
{
    struct timeval limit = { .tv_sec = (time_t)(timeout_us / 1000000),
                             .tv_usec = (suseconds_t)(timeout_us % 1000000) };
    uint8_t bytes[WORDS_BYTES];
    int buffer = pvm_trecv(-1, tag, &limit), size = 0;

    if (buffer <= 0)
        return buffer == 0 ? NF_WAIT : NF_ERR_UNREACHABLE;
    memset(words_p, 0, WORDS_BYTES);
    if (pvm_bufinfo(buffer, &size, NULL, tid_p) < 0 || size != WORDS_BYTES ||
        pvm_upkbyte((char *)bytes, WORDS_BYTES, 1) < 0)
        return NF_OK; /* no words of ours: all zero */
    for (int i = 0; i < NF_PVM_WORDS; i++)
        words_p[i] = nf_load_le64(bytes + 8 * i);
    return NF_OK;
}
