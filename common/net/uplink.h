#ifndef NF_NET_UPLINK_H
#define NF_NET_UPLINK_H
/** @file uplink.h  The way out of this host, which the sockets of a process share.
 *
 *  What is written to several sockets at once leaves mixed: the first message is
 *  there when the last one is.  Trees and rounds are planned for senders that
 *  send one message after the other, so whoever has much to send to somebody
 *  else waits until what it wrote before has left.  The kernel says how much of
 *  each socket has not.
 *
 *  A socket of which nothing leaves for a while - its peer does not read, its
 *  cable is out - is no reason to wait.  Where the kernel does not say (it is not
 *  Linux), the way is always free. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    /** So much not sent keeps the way busy while a process sleeps. */
    NF_UPLINK_UNSENT_BYTES = 16 * 1024,
    /** Nothing of a socket has left for so long: it does not count. */
    NF_UPLINK_STUCK_US = 20 * 1000,
};

/** What is known of one socket; all 0 at first. */
struct nf_uplink_socket {
    uint64_t unsent_bytes;
    int64_t moved_us; /**< when that was last seen to change */
};

/** Is the way to be left to @p socket, of which now @p unsent_bytes wait?
 *  Notes both. */
bool nf_uplink_is_held(struct nf_uplink_socket *socket, uint64_t unsent_bytes,
                       int64_t now_us);
/** Is there room on the way out?
 *  @param fds  [count] connected sockets; others are passed over */
bool nf_uplink_is_free(const int *fds, size_t count, int64_t now_us);
#endif
