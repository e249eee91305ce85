/* How whoever is in a mesh waits when nothing has come. */
#include "config.h"
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include "common/base/clock.h"
#include "common/net/mesh_pvm.h"

enum { FDS_MOST = 1024 };

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

    make(bed);
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

    return sleep_in(&bed, timeout_us);
}

/* Whoever else is ready to run on this processor has a turn before: what is waited
 * for is often just what he is about to send, and to find it costs less than to be
 * woken. */
bool nf_mesh_pvm_doze(struct mesh_pvm *p, int64_t timeout_us)
{
    struct bed bed;

    p->arriving = false;
    if (timeout_us != 0)
        sched_yield();
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
