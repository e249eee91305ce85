/* How whoever is in a mesh waits when nothing has come. */
#include "config.h"
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include "common/base/clock.h"
#include "common/net/mesh_pvm.h"

enum { FDS_MOST = 1024 };

static int64_t nap_most_us = 1000; /* news of others waits so long at most */

/* What is slept on: sockets of libpvm, then ducts. */
struct bed {
    struct pollfd watch[FDS_MOST + NF_MESH_DUCT_FDS_MOST];
    size_t npvm, nducts;
};

static void make(struct bed *bed)
{
    const int *fds;
    size_t count = nf_pvm_fds(&fds);

    bed->npvm = count < FDS_MOST ? count : FDS_MOST;
    for (size_t i = 0; i < bed->npvm; i++)
        bed->watch[i] = (struct pollfd){ .fd = fds[i], .events = POLLIN };
    bed->nducts =
        nf_mesh_duct_watch(bed->watch + bed->npvm, NF_MESH_DUCT_FDS_MOST);
}

static bool sleep_in(struct bed *bed, int64_t timeout_us)
{
    int64_t until_us = timeout_us > 0 ? nf_now_us() + timeout_us : 0;
    int code;

    do {
        struct timespec left = nf_mesh_timespec(
            timeout_us > 0 ? until_us - nf_now_us() : 0);

        code = ppoll(bed->watch, (nfds_t)(bed->npvm + bed->nducts),
                     timeout_us < 0 ? NULL : &left, NULL);
    } while (code < 0 && errno == EINTR);
    return code > 0;
}

bool nf_mesh_pvm_sleep(int64_t timeout_us)
{
    struct bed bed;

    make(&bed);
    return sleep_in(&bed, timeout_us);
}

void nf_mesh_pvm_nap_for(int64_t most_us)
{
    nap_most_us = most_us;
}

/* Do not listen to @p tid: only its end wakes us.  @return whether we did */
static bool hush(struct bed *bed, int tid)
{
    int fd = nf_mesh_duct_fd(tid);

    for (size_t i = bed->npvm; fd >= 0 && i < bed->npvm + bed->nducts; i++)
        if (bed->watch[i].fd == fd) {
            bed->watch[i].events = 0;
            return true;
        }
    return false;
}

/* Of those who still have something that was lent the one that got it last, who will
 * most often be the last to have read it.  NULL: there are none */
static const struct mesh_member *find_waker(const struct mesh_pvm *p)
{
    const struct mesh_member *waker = NULL;

    for (uint32_t i = 0; i < p->base.ranks; i++)
        if (nf_mesh_loan_is_all(p, i) &&
            (waker == NULL || p->members[i].lent_at > waker->lent_at))
            waker = &p->members[i];
    return waker;
}

/* To wake somebody on another processor takes a reader as long as to read a fifth of
 * 1 MiB.  So if all that we wait for is that what we lent is read, one of them does.
 * @return how long we may still sleep */
static int64_t nap(const struct mesh_pvm *p, struct bed *bed, int64_t timeout_us)
{
    int64_t nap_us =
        timeout_us >= 0 && timeout_us < nap_most_us ? timeout_us : nap_most_us;
    const struct mesh_member *waker = find_waker(p);
    bool some = false;

    for (uint32_t i = 0; i < p->base.ranks; i++)
        if (&p->members[i] != waker && nf_mesh_loan_is_all(p, i))
            some = hush(bed, p->members[i].tid) || some;
    if (!some)
        return timeout_us;
    if (sleep_in(bed, nap_us))
        timeout_us = 0; /* now listen to all that they have said */
    else if (timeout_us > 0)
        timeout_us -= nap_us;
    for (size_t i = 0; i < bed->npvm + bed->nducts; i++)
        bed->watch[i].events = POLLIN;
    return timeout_us;
}

/* Whoever else is ready to run on this processor has a turn before: what is waited
 * for is often just what he is about to send, and to find it costs less than to be
 * woken. */
bool nf_mesh_pvm_doze(struct mesh_pvm *p, int64_t timeout_us)
{
    struct bed bed;

    p->arriving = false;
    if (timeout_us != 0 && !p->base.sleeps)
        sched_yield();
    make(&bed);
    if (p->base.settles && timeout_us != 0)
        timeout_us = nap(p, &bed, timeout_us);
    if (!sleep_in(&bed, timeout_us))
        return false;
    for (size_t i = 0; i < bed.npvm; i++)
        p->arriving = p->arriving || bed.watch[i].revents != 0;
    if (nf_mesh_duct_serve(bed.watch + bed.npvm, bed.nducts)) {
        /* before anybody hears of it, and closes the mesh */
        nf_mesh_pvm_serve(p);
        nf_mesh_pvm_tend();
    }
    p->drained = !p->arriving;
    return true;
}
