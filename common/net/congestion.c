/* See congestion.h. */
#include "config.h"
#include "common/net/congestion.h"
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

enum { NAME_BYTES = 16 }; /* TCP_CA_NAME_MAX of the kernel */

void nf_congestion_replace_bbr(int fd)
{
    static const char *const others[] = { "cubic", "reno" };
    char name[NAME_BYTES + 1] = "";
    socklen_t size = NAME_BYTES;

    if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &size) < 0 ||
        strncmp(name, "bbr", 3) != 0)
        return;
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, others[i],
                       (socklen_t)strlen(others[i])) == 0)
            return;
}
