/* What waits in the sockets of this process.  See uplink.h. */
#include "config.h"
#include "common/net/uplink.h"
#include <sys/ioctl.h>
#ifdef __linux__
#include <linux/sockios.h>
#endif

enum { SOCKETS_MOST = 1024 };

/* By descriptor.  One that was closed and is another socket now may hold up, or
 * be passed over, for NF_UPLINK_STUCK_US too long: no more. */
static struct nf_uplink_socket sockets[SOCKETS_MOST];

bool nf_uplink_is_held(struct nf_uplink_socket *socket, uint64_t unsent_bytes,
                       int64_t now_us)
{
    if (unsent_bytes != socket->unsent_bytes) {
        socket->unsent_bytes = unsent_bytes;
        socket->moved_us = now_us;
    }
    return unsent_bytes >= NF_UPLINK_UNSENT_BYTES &&
           now_us - socket->moved_us < NF_UPLINK_STUCK_US;
}

static bool ask_unsent(int fd, uint64_t *bytes_p)
{
#ifdef SIOCOUTQNSD
    int bytes = 0; /* valgrind does not know that ioctl writes it */

    if (ioctl(fd, SIOCOUTQNSD, &bytes) != 0 || bytes < 0)
        return false;
    *bytes_p = (uint64_t)bytes;
    return true;
#else
    (void)fd;
    (void)bytes_p;
    return false;
#endif
}

bool nf_uplink_is_free(const int *fds, size_t count, int64_t now_us)
{
    bool is_free = true;

    for (size_t i = 0; i < count; i++) {
        uint64_t bytes;

        if (fds[i] < 0 || fds[i] >= SOCKETS_MOST || !ask_unsent(fds[i], &bytes))
            continue;
        if (nf_uplink_is_held(&sockets[fds[i]], bytes, now_us))
            is_free = false;
    }
    return is_free;
}
