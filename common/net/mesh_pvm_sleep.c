/* How whoever is in a mesh waits when nothing has come. */
#include "config.h"
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include "common/base/clock.h"
#include "common/net/mesh_pvm.h"

enum { FDS_MOST = 1024 };

bool nf_mesh_pvm_sleep(int64_t timeout_us)
{
    int64_t until_us = timeout_us > 0 ? nf_now_us() + timeout_us : 0;
    struct pollfd watch[FDS_MOST];
    const int *fds;
    size_t count = nf_pvm_fds(&fds);
    int code;

    if (count > FDS_MOST)
        count = FDS_MOST;
    for (size_t i = 0; i < count; i++)
        watch[i] = (struct pollfd){ .fd = fds[i], .events = POLLIN };
    do {
        struct timespec left = nf_mesh_timespec(
            timeout_us > 0 ? until_us - nf_now_us() : 0);

        code =
            ppoll(watch, (nfds_t)count, timeout_us < 0 ? NULL : &left, NULL);
    } while (code < 0 && errno == EINTR);
    return code > 0;
}

/* Whoever else is ready to run on this processor has a turn before: what is waited
 * for is often just what he is about to send, and to find it costs less than to be
 * woken. */
bool nf_mesh_pvm_doze(struct mesh_pvm *p, int64_t timeout_us)
{
    if (timeout_us != 0)
        sched_yield();
    p->arriving = nf_mesh_pvm_sleep(timeout_us);
    return p->arriving;
}
