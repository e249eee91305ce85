#ifndef NF_NET_DUCT_H
#define NF_NET_DUCT_H
/** @file duct.h  Sockets of our own between tasks, for packets: a duct each.
 *
 *  A packet by a direct route of libpvm takes eight system calls, two to send and
 *  four or more to be received, since libpvm asks before it writes, and reads
 *  each message's head alone.  By a duct it takes three, or fewer if several come
 *  at once.
 *
 *  Whoever is to be reached listens, and tells its address by other means (PVM):
 *  a port, the name of a local socket, which anybody may see, and a key that only
 *  those who were told know.  Who connects shows the key and says who it is.
 *  Tasks of one host use the local socket, which lets in its own user only,
 *  others TCP.
 *
 *  Nothing here waits for a task that does not read, if its users never have more
 *  on the way than nf_ducts_window_bytes(): else a send waits for room.  One
 *  thread. */
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>
#include "nowfarm.h"

enum {
    NF_DUCT_NAME_BYTES = 8,
    NF_DUCT_KEY_BYTES = 16,
    /** Port, name, key. */
    NF_DUCT_ADDRESS_BYTES = 2 + NF_DUCT_NAME_BYTES + NF_DUCT_KEY_BYTES,
    NF_DUCT_PACKET_MOST_BYTES = 64 * 1024,
    NF_DUCT_PARTS_MOST = 4, /**< of a packet that is sent */
};

struct nf_ducts;

/** What becomes of ducts.  Called by nf_ducts_serve() only. */
struct nf_ducts_user {
    void *self;
    /** A packet of @p tid has come; its bytes are there until this returns. */
    void (*come)(void *self, int tid, const uint8_t *packet, size_t bytes);
    /** All that @p tid sent was read, and no more can come. */
    void (*ended)(void *self, int tid);
};

/** @param tid  of this task
 *  @param ducts_p  to nf_ducts_destroy() */
enum nf_status nf_ducts_create(int tid, const struct nf_ducts_user *user,
                               struct nf_ducts **ducts_p);
/** Closes all; takes NULL. */
void nf_ducts_destroy(struct nf_ducts *ducts);
/** Where this task can be reached, by one that is told; it listens from the first call
 *  on.  A descriptor is kept free for that one until it has come, or nf_ducts_settle().
 *  @retval NF_ERR_IO  it can't be, or has no descriptor left
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_ducts_address(struct nf_ducts *ducts,
                                uint8_t address_p[NF_DUCT_ADDRESS_BYTES]);
/** Nobody who was told is to come any more: stop listening, keep nothing for
 *  them, and shake off who has not said who it is. */
void nf_ducts_settle(struct nf_ducts *ducts);
/** Connect to task @p tid, which told @p address, unless a duct to it is there:
 *  waits for at most half a second for each address that its host has, and for
 *  these to be found.
 *  @param host  the name of its host; NULL: this one
 *  @retval NF_ERR_UNREACHABLE  it can't be reached so */
enum nf_status nf_ducts_connect(struct nf_ducts *ducts, int tid,
                                const char *host,
                                const uint8_t address[NF_DUCT_ADDRESS_BYTES]);
/** @return the descriptor of that to @p tid, among those that are watched; < 0: there is
 *  none */
int nf_ducts_fd(const struct nf_ducts *ducts, int tid);
/** Send one packet, the bytes of @p parts [@p count <= NF_DUCT_PARTS_MOST] one
 * behind the other, NF_DUCT_PACKET_MOST_BYTES at most.  Packets keep their
 * order.
 *  @retval NF_ERR_UNREACHABLE  there is no duct, or it is broken now: when all
 *  was read nf_ducts_serve() tells that it has ended */
enum nf_status nf_ducts_send(struct nf_ducts *ducts, int tid,
                             const struct iovec *parts, size_t count);
/** So much may be on the way to each, by what their sockets hold. */
uint32_t nf_ducts_window_bytes(const struct nf_ducts *ducts);
/** How many descriptors there are to watch. */
size_t nf_ducts_count(const struct nf_ducts *ducts);
/** Put them, to be watched for reading, at @p watch_p [nf_ducts_count()]. */
void nf_ducts_watch(const struct nf_ducts *ducts, struct pollfd *watch_p);
/** Read those that are ready: a piece of each, so that none keeps the others
 * waiting.
 *  @param watch  [@p count] as put by nf_ducts_watch() since the last call of
 * this, and asked
 *  @return whether anybody has come, said anything or ended */
bool nf_ducts_serve(struct nf_ducts *ducts, const struct pollfd *watch,
                    size_t count);
#endif
